import TrackingCore

/// How new what was last told of a trackable is that is fed from outside: nothing older is told as if it were news.
///
/// It is kept in the log, so that a backlog that comes after a restart is none either.
struct ToldTimes: Hashable, Sendable {
    /// Of the newest point that the live lane was given.
    var point: UnixTime?
    /// Of the newest event.
    var event: UnixTime?
    /// Of the newest version of a trip.
    var trip: UnixTime?

    /// How far ahead of the clock something may be and still be news.
    private static let ahead = LocationFilter.maximumAhead

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

    /// Whether a record is news; then nothing older of its kind is any more. What claims to be from the future never is: it
    /// would keep everything else from being told until then.
    mutating func isNews(_ content: RecordDraft.Content, at time: UnixTime, now: UnixTime) -> Bool {
        let kind: WritableKeyPath<ToldTimes, UnixTime?> =
            switch content {
            case .point: \.point
            case .event: \.event
            case .trip: \.trip
            }
        guard time.since(now) <= Self.ahead, self[keyPath: kind].map({ $0 <= time }) ?? true else { return false }
        self[keyPath: kind] = time
        return true
    }
}
