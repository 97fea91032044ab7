public import TrackingCore

/// Tells where in a history points are known to be missing.
public struct TrackContinuity: Sendable {
    /// What lies between two points that are read one after the other.
    public enum Step: Hashable, Sendable {
        /// Nothing that is known of.
        case next
        /// Only what is stored: trips, events, and points that were not read; since this time. Or one of the points has no
        /// number, and nothing is known of what lies between.
        case passedOver(since: UnixTime)
        /// Something that is not stored; or the point is of another stream than the last that had a number, and nothing is known
        /// of what lies between.
        case missing
    }

    private let coverage: [StreamID: StreamCoverage]
    private var last: (stream: StreamID, seq: UInt64, time: UnixTime)?
    /// The time of the point before, whether or not it has a number.
    private var lastTime: UnixTime?

    /// Makes it, from what is known of the streams.
    public init(_ coverage: [StreamID: StreamCoverage]) { self.coverage = coverage }

    /// Goes on to a point, and tells what lies between the one before and it.
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
