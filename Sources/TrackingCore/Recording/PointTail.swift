/// The last points of a trackable, where its rows do not have them yet: points of one stream in order, each with the number and a
/// time after those of the one before, beginning after the last position that the trackable's row has. What they change of the
/// last position, the open run and the coverage of the stream follows from the points themselves.
///
/// A row written with every point would cost more than the point. It is written when something else than the next point comes, or
/// the tail is full.
public struct PointTail: Hashable, Sendable {
    /// Of which stream: the last that something came of.
    public var stream: StreamID
    /// The numbers of the points.
    public var seqs: ClosedRange<UInt64>

    /// So many points a tail has at most: they are read when a trackable is loaded.
    public static let maximumCount = 64
}

extension PointTail? {
    /// The next point came.
    mutating func extend(_ stream: StreamID, _ seq: UInt64) {
        self = PointTail(stream: stream, seqs: (self?.seqs.lowerBound ?? seq)...seq)
    }
}
