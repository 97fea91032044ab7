import TrackingCore

/// The SQL that removes rows from the table `quarantine` when it is too long, for both stores.
enum QuarantineTrim {
    /// The number of rows to which a table that is too long is reduced. It is below the limit, so that not
    /// every quarantined message requires a search of the table.
    private static let left = StoreLimits.quarantine * 19 / 20

    /// The SQL condition that a row is the note of a possible gap (see ``RefusedMessage/possibleGapReason``). Such
    /// notes are limited separately, so that unreadable messages do not displace them.
    static let isGap = "trackable IS NULL AND reason = '\(RefusedMessage.possibleGapReason)'"

    /// Returns the messages of a batch that are written to the table.
    static func kept(_ refused: [RefusedMessage]) -> [RefusedMessage] {
        guard refused.count > StoreLimits.quarantine else { return refused }
        return refused.filter(\.isGap) + refused.filter { !$0.isGap }.suffix(StoreLimits.quarantine)
    }

    /// The SQL query for the number of quarantined messages, without notes of possible gaps.
    static let count = "SELECT count(*) FROM quarantine WHERE NOT (\(isGap))"

    /// Returns the statement that reduces a number of messages to the limit; `nil` if the number is below it.
    /// The oldest messages of the trackable with the most messages are removed first.
    static func deletion(of count: Int) -> String? {
        guard count > StoreLimits.quarantine else { return nil }
        return """
            DELETE FROM quarantine WHERE number IN (SELECT number FROM (SELECT number, row_number() OVER \
            (PARTITION BY trackable ORDER BY number DESC) AS place FROM quarantine WHERE NOT (\(isGap))) AS ranked \
            ORDER BY place DESC, number LIMIT \(count - self.left))
            """
    }

    /// The statement that removes the oldest notes of possible gaps beyond the limit.
    static let gapDeletion = """
        DELETE FROM quarantine WHERE \(isGap) AND number <= (SELECT number FROM quarantine WHERE \(isGap) \
        ORDER BY number DESC LIMIT 1 OFFSET \(StoreLimits.keptGaps))
        """
}

extension RefusedMessage {
    /// `true` if the entry is the note of a possible gap instead of a quarantined message.
    var isGap: Bool { self.trackable == nil && self.reason == Self.possibleGapReason }
}
