public import TrackingCore

/// A recorded point whose position was matched with a road, and the way to it from the point before.
public struct MatchedPoint: Hashable, Sendable {
    /// The recorded point with its position on the road. Off the road, it is the point as it was recorded.
    public var location: Location
    /// The certainty of the match: on a road, presumed on a road, or on no road.
    public var confidence: Enhancement.Confidence
    /// The name of the road; `nil` for a road without a name and off the road.
    public var road: String?
    /// The way along the road from the point before to this one, without both of them. Empty for the first point, after
    /// an interruption, off the road, and on a straight road.
    public var way: [Coordinate]
    /// The distance along the road from the point before, and the straight distance where the way is unknown. 0 for the
    /// first point.
    public var distance: Meters
    /// `true` when points are known to be missing before this one.
    public var isInterrupted: Bool
    /// The engine's id of the edge; `nil` off the road.
    var edge: UInt64?

    /// Makes a recorded point that is on no road.
    public init(_ location: Location, distance: Meters = 0, isInterrupted: Bool = false) {
        self.location = location
        self.confidence = .offRoad
        self.way = []
        self.distance = distance
        self.isInterrupted = isInterrupted
    }

    /// Returns `true` if two matches of one point have the same road and the same position on it, within a metre.
    func agrees(with other: MatchedPoint) -> Bool {
        self.edge == other.edge
            && self.location.coordinate.distance(to: other.location.coordinate) <= Self.agreement
    }

    private static let agreement: Meters = 1
}
