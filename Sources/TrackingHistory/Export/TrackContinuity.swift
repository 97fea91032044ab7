public import TrackingCore

/// Detects missing points between consecutive points of a history. It uses the numbers that a publisher gives to its
/// records, without gaps, in each stream (one life of its log).
public struct TrackContinuity: Sendable {
    /// The result of comparing a point with the previous one: whether records between them are missing.
    public enum Step: Hashable, Sendable {
        /// No record is missing between the two points: the number of the second point is at most one greater than the
        /// number of the first, or no earlier point has a number.
        case next
        /// No record is known to be missing between the two points, although their numbers are not consecutive. The
        /// history has every record between them: trips, events, or points that the query did not select. The case also
        /// applies to a second point without a number, for which nothing can be proved. `since` is the time of the
        /// previous point or, if the second point has a number, of the previous point with a number.
        case passedOver(since: UnixTime)
        /// A record between the previous point and this point is missing in the history. This result is also used when
        /// this point belongs to another stream than the previous numbered point, because missing records cannot be
        /// excluded then.
        case missing
    }

    private let coverage: [StreamID: StreamCoverage]
    private var last: (stream: StreamID, seq: UInt64, time: UnixTime)?
    /// The time of the point that was passed to ``step(to:)`` last, with or without a record number; `nil` before the
    /// first point.
    private var lastTime: UnixTime?

    /// Makes a detector of the missing points of one history.
    ///
    /// - Parameter coverage: For each stream, the known states of record numbers, such as stored or gone. Only stored
    ///   records count as present.
    public init(_ coverage: [StreamID: StreamCoverage]) { self.coverage = coverage }

    /// Compares the next point of the history with the previous one, and returns if records between them are missing.
    /// Remembers the point for the next comparison.
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
