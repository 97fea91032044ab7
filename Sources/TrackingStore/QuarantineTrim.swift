import TrackingCore

/// The SQL that removes rows from the table `quarantine` when it exceeds its limits. The SQL is valid for SQLite and
/// PostgreSQL.
enum QuarantineTrim {
    /// The number of quarantined messages to which a table above its limit is reduced: 95 % of the limit. The next
    /// messages then do not exceed the limit at once.
    private static let left = StoreLimits.quarantine * 19 / 20

    /// The SQL condition for a row that records a possible gap, a time at which messages may have been lost (see
    /// ``RefusedMessage/possibleGapReason``). Such rows have a limit of their own, so that quarantined messages do not
    /// displace them.
    static let isGap = "trackable IS NULL AND reason = '\(RefusedMessage.possibleGapReason)'"

    /// Returns those quarantined messages of a batch that are written to the table. If a batch has more messages than
    /// the table may contain, only its last ones are written. Entries that record a possible gap are always written.
    static func kept(_ refused: [RefusedMessage]) -> [RefusedMessage] {
        guard refused.count > StoreLimits.quarantine else { return refused }
        return refused.filter(\.isGap) + refused.filter { !$0.isGap }.suffix(StoreLimits.quarantine)
    }

    /// The SQL query for the number of quarantined messages. Rows that record a possible gap are not counted.
    static let count = "SELECT count(*) FROM quarantine WHERE NOT (\(isGap))"

    /// Returns the SQL statement that reduces the table to 95 % of its limit; `nil` if `count` messages do not exceed
    /// the limit. The oldest messages of the trackable with the most messages are removed first.
    static func deletion(of count: Int) -> String? {
        guard count > StoreLimits.quarantine else { return nil }
        return """
            DELETE FROM quarantine WHERE number IN (SELECT number FROM (SELECT number, row_number() OVER \
            (PARTITION BY trackable ORDER BY number DESC) AS place FROM quarantine WHERE NOT (\(isGap))) AS ranked \
            ORDER BY place DESC, number LIMIT \(count - self.left))
            """
    }

    /// The SQL statement that removes the oldest rows that record a possible gap, if there are more than their limit.
    static let gapDeletion = """
        DELETE FROM quarantine WHERE \(isGap) AND number <= (SELECT number FROM quarantine WHERE \(isGap) \
        ORDER BY number DESC LIMIT 1 OFFSET \(StoreLimits.keptGaps))
        """
}

extension RefusedMessage {
    /// `true` if the entry records a possible gap, a time at which messages may have been lost; `false` for a
    /// quarantined message.
    var isGap: Bool { self.trackable == nil && self.reason == Self.possibleGapReason }
}
