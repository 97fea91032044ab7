public import TrackingCore

/// Tells where in a history points are known to be missing.
public struct TrackContinuity: Sendable {
    /// What is known of the streams; without it, as where points of a place alone are read, every number that is left out is
    /// missing.
    private let coverage: [StreamID: StreamCoverage]?
    private var last: (stream: StreamID, seq: UInt64)?

    /// Makes it, from what is known of the streams; `nil` where a part of the points is read.
    public init(_ coverage: [StreamID: StreamCoverage]?) { self.coverage = coverage }

    /// Whether points are missing between the one before and this one. Those of another stream say nothing of it.
    public mutating func isInterrupted(before point: Location) -> Bool {
        guard let stream = point.stream, let seq = point.seq else { return false }
        defer { self.last = (stream, seq) }
        guard let last = self.last, last.stream == stream, seq > last.seq + 1 else { return false }
        guard let stored = self.coverage?[stream]?[.stored] else { return true }
        let missing = (last.seq + 1)...(seq - 1)
        return stored.intersection(SeqSet(CollectionOfOne(missing))).ranges.first != missing
    }
}
