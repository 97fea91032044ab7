import TrackingCore

/// What of the table `quarantine` goes where it has grown too long, in the SQL of both stores.
enum QuarantineTrim {
    /// Where it has more rows than may be kept, it is brought down to so many: not each message that is set aside costs a look at
    /// all of them.
    private static let left = StoreLimits.quarantine * 19 / 20

    /// Whether a row is the note of a possible gap. Nobody's bad messages push those out.
    static let isGap = "trackable IS NULL AND reason = '\(RefusedMessage.possibleGapReason)'"

    /// What of many messages is written at all.
    static func kept(_ refused: [RefusedMessage]) -> [RefusedMessage] {
        guard refused.count > StoreLimits.quarantine else { return refused }
        return refused.filter(\.isGap) + refused.filter { !$0.isGap }.suffix(StoreLimits.quarantine)
    }

    /// How many messages there are.
    static let count = "SELECT count(*) FROM quarantine WHERE NOT (\(isGap))"

    /// What brings a number of messages down; `nil` where so many may stay. Of whom most are kept, the oldest go first.
    static func deletion(of count: Int) -> String? {
        guard count > StoreLimits.quarantine else { return nil }
        return """
            DELETE FROM quarantine WHERE number IN (SELECT number FROM (SELECT number, row_number() OVER \
            (PARTITION BY trackable ORDER BY number DESC) AS place FROM quarantine WHERE NOT (\(isGap))) AS ranked \
            ORDER BY place DESC, number LIMIT \(count - self.left))
            """
    }

    /// What removes the oldest notes of possible gaps where there are too many.
    static let gapDeletion = """
        DELETE FROM quarantine WHERE \(isGap) AND number <= (SELECT number FROM quarantine WHERE \(isGap) \
        ORDER BY number DESC LIMIT 1 OFFSET \(StoreLimits.keptGaps))
        """
}

extension RefusedMessage {
    /// Whether it is the note of a possible gap.
    var isGap: Bool { self.trackable == nil && self.reason == Self.possibleGapReason }
}
