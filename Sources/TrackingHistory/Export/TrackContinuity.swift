public import TrackingCore

/// Detects missing points between consecutive points of a history.
public struct TrackContinuity: Sendable {
    /// The relation of a point to the previous one.
    public enum Step: Hashable, Sendable {
        /// No missing record is known between the two points.
        case next
        /// Only stored records are between the points: trips, events, and points that were not selected, since the
        /// given time. Also used when one of the points has no number, so that missing records cannot be detected.
        case passedOver(since: UnixTime)
        /// A record that is not stored is between the points. Also used when the point has another stream than the last
        /// numbered point, so that missing records cannot be excluded.
        case missing
    }

    private let coverage: [StreamID: StreamCoverage]
    private var last: (stream: StreamID, seq: UInt64, time: UnixTime)?
    /// The time of the previous point, numbered or not.
    private var lastTime: UnixTime?

    /// Makes a detector from the coverage of the streams.
    public init(_ coverage: [StreamID: StreamCoverage]) { self.coverage = coverage }

    /// Advances to the next point of the history, and returns its relation to the previous one.
    public mutating func step(to point: Location) -> Step {
        defer { self.lastTime = point.time }
        guard let stream = point.stream, let seq = point.seq else {
            return self.lastTime.map { .passedOver(since: $0) } ?? .next
        }
        defer { self.last = (stream, seq, point.time) }
        guard let last = self.last else { return .next }
        guard last.stream == stream else { return .missing }
        guard seq > last.seq + 1 else { return .next }
        guard let stored = self.coverage[stream]?[.stored], let end = stored.end(ofRangeWith: last.seq + 1),
            end >= seq - 1
        else { return .missing }
        return .passedOver(since: last.time)
    }
}
