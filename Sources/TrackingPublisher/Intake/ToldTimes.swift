import TrackingCore

/// How new what was last told of a trackable is that is fed from outside: no older position, and no older version of a trip, is
/// told as if it were news. What happened is told however late, within a week: it takes no other event's place. What is older is told
/// where nothing newer was.
///
/// It is kept in the log, so that a backlog that comes after a restart is none either.
struct ToldTimes: Hashable, Sendable {
    /// Of the newest point that the live lane was given.
    var point: UnixTime?
    /// Of the newest event.
    var event: UnixTime?
    /// Of the newest version of a trip.
    var trip: UnixTime?

    /// How long ago something may have happened and still be told.
    private static let longestLateness = Duration.seconds(7 * 86_400)

    init() {}

    /// Reads what ``encoded`` wrote; what cannot be read is not known.
    init(_ bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3 else { return }
        (self.point, self.event, self.trip) = (Self.time(words[0]), Self.time(words[1]), Self.time(words[2]))
    }

    var encoded: [UInt8] {
        Array(
            [self.point, self.event, self.trip].map { $0.map { "\($0.seconds)" } ?? "-" }.joined(separator: " ").utf8)
    }

    private static func time(_ word: Substring) -> UnixTime? {
        Double(word).flatMap { $0.isFinite ? UnixTime($0) : nil }
    }

    /// Whether a record is news; then no older position, or version of a trip, is any more. What claims to be from the future never
    /// is: it would keep everything else from being told until then. Neither is a position that ``LivePosition`` forbids, nor a trip
    /// from before ``RecordedTime/earliest``.
    mutating func isNews(_ content: RecordDraft.Content, at time: UnixTime, now: UnixTime) -> Bool {
        guard time.since(now) <= LivePosition.maximumAhead else { return false }
        // By a clock of ours that is not set nobody's is judged.
        let isOfUnsetClock = time < RecordedTime.earliest && now >= RecordedTime.earliest
        switch content {
        case .point(let point):
            return !isOfUnsetClock && LivePosition.fault(of: point, at: nil) == nil && Self.isNewest(time, &self.point)
        case .event: return Self.isNewest(time, &self.event) || now.since(time) <= Self.longestLateness
        case .trip: return !isOfUnsetClock && Self.isNewest(time, &self.trip)
        }
    }

    private static func isNewest(_ time: UnixTime, _ last: inout UnixTime?) -> Bool {
        guard last.map({ $0 <= time }) ?? true else { return false }
        last = time
        return true
    }
}
