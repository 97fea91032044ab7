import TrackingCore

/// The times of the newest published records of a remote source, whose records are ingested over HTTP. There is one
/// such time (a watermark) for each kind of record.
///
/// Older positions and older versions of a trip are recorded but not published. An event is published if no newer event
/// was published, or if it happened in the last week. The watermarks are stored in the log, so that they also apply
/// after a restart.
struct PublishedWatermarks: Hashable, Sendable {
    /// The time of the newest position that was ingested from the remote source and published live; `nil` for none.
    var point: UnixTime?
    /// The time of the newest event that was ingested from the remote source and published live; `nil` for none.
    var event: UnixTime?
    /// The time of the newest version of a trip that was ingested from the remote source and published live; `nil` for
    /// none.
    var trip: UnixTime?

    /// The greatest age of an event that is published although a newer event was published before: one week.
    private static let longestLateness = Duration.seconds(7 * 86_400)

    init() {}

    /// Reads watermarks (times of the newest published records) from the text that ``encoded`` returns. A time that
    /// cannot be read becomes `nil`.
    init(_ bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3 else { return }
        (self.point, self.event, self.trip) = (Self.time(words[0]), Self.time(words[1]), Self.time(words[2]))
    }

    /// The watermarks in the form in which the log stores them: three times in seconds, separated by spaces, with `-`
    /// for none.
    var encoded: [UInt8] {
        Array(
            [self.point, self.event, self.trip].map { $0.map { "\($0.seconds)" } ?? "-" }.joined(separator: " ").utf8)
    }

    private static func time(_ word: Substring) -> UnixTime? {
        Double(word).flatMap { $0.isFinite ? UnixTime($0) : nil }
    }

    /// Returns `true` if an ingested record must be published live. If no newer record of its kind (position, event or
    /// trip) was published, its time becomes the watermark of that kind.
    ///
    /// A record whose time is more than ``LivePosition/maximumAhead`` in the future is never published, because every
    /// later record would be suppressed until then. A position that ``LivePosition`` rejects is not published either.
    /// Once this device's own clock is set, neither is a position or trip from before ``RecordedTime/earliest``.
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
