/// The newest stored points of a trackable that two summary rows of the database do not include yet: the row of the
/// trackable and the row of its stream.
///
/// Writing these two rows with every point would cost more than the point itself. So they are written later, for
/// example when another kind of message arrives, or when the tail is full. The points of a tail have consecutive
/// numbers in one stream and ascending times. So the values missing in the rows can be computed from the points.
public struct PointTail: Hashable, Sendable {
    /// The trackable's latest stream (one life of the device's log), to which the points of the tail belong.
    public var stream: StreamID
    /// The record numbers of the points in the tail: the first one, the last one and all between them.
    public var seqs: ClosedRange<UInt64>

    /// The maximum number of points in a tail: 64. When a trackable is loaded from the store, the points of its tail
    /// must be read again.
    public static let maximumCount = 64
}

extension PointTail? {
    /// Adds a point to the tail, the newest stored points that two database rows do not include yet; begins a tail if
    /// there is none.
    ///
    /// - Parameters:
    ///   - stream: The stream of the point.
    ///   - seq: The number of the point, the next one of the tail.
    mutating func extend(_ stream: StreamID, _ seq: UInt64) {
        self = PointTail(stream: stream, seqs: (self?.seqs.lowerBound ?? seq)...seq)
    }
}
