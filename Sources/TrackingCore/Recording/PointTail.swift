/// The last points of a trackable that are stored, but not yet reflected in the rows of the trackable and its stream.
///
/// A row that is written with every point would cost more than the point. So the rows are written when a message other
/// than the next point arrives, or when the tail is full. A tail consists of points of one stream with consecutive
/// numbers and ascending times, and begins after the last position in the trackable's row. The last position, the open
/// run and the coverage of the stream can therefore be computed from the points.
public struct PointTail: Hashable, Sendable {
    /// The stream of the points; the trackable's latest stream.
    public var stream: StreamID
    /// The numbers of the points.
    public var seqs: ClosedRange<UInt64>

    /// The maximum number of points in a tail. They are read when a trackable is loaded.
    public static let maximumCount = 64
}

extension PointTail? {
    /// Adds the next point to the tail.
    mutating func extend(_ stream: StreamID, _ seq: UInt64) {
        self = PointTail(stream: stream, seqs: (self?.seqs.lowerBound ?? seq)...seq)
    }
}
