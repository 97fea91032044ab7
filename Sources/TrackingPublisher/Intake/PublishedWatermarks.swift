import TrackingCore

/// The times of the newest records of a remote source that were published.
///
/// An older position, and an older version of a trip, is recorded but not published. An event is published when it
/// happened in the last week, however late it arrives, or when it is newer than every published event. The watermarks
/// are stored in the log, so that a backlog that arrives after a restart is not published either.
struct PublishedWatermarks: Hashable, Sendable {
    /// The time of the newest point on the live lane.
    var point: UnixTime?
    /// The time of the newest event.
    var event: UnixTime?
    /// The time of the newest version of a trip.
    var trip: UnixTime?

    /// The greatest age of an event that is published late.
    private static let longestLateness = Duration.seconds(7 * 86_400)

    init() {}

    /// Reads the value of ``encoded``; every value that cannot be read is `nil`.
    init(_ bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3 else { return }
        (self.point, self.event, self.trip) = (Self.time(words[0]), Self.time(words[1]), Self.time(words[2]))
    }

    /// The value in the log.
    var encoded: [UInt8] {
        Array(
            [self.point, self.event, self.trip].map { $0.map { "\($0.seconds)" } ?? "-" }.joined(separator: " ").utf8)
    }

    private static func time(_ word: Substring) -> UnixTime? {
        Double(word).flatMap { $0.isFinite ? UnixTime($0) : nil }
    }

    /// Returns `true` when a record is to be published, and raises the watermark of its kind.
    ///
    /// A record from the future is never published, because it would suppress every record until then. A position
    /// that ``LivePosition`` rejects, and a trip from before ``RecordedTime/earliest``, are not published either.
    mutating func isNews(_ content: RecordDraft.Content, at time: UnixTime, now: UnixTime) -> Bool {
        guard time.since(now) <= LivePosition.maximumAhead else { return false }
        // The device's own clock must be set before a record is judged by it.
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
