/// What travels on the live lane: the newest position and the points that were not sent by themselves before it.
public struct LocationUpdate: Hashable, Sendable {
    /// Whether the position was measured or extrapolated (`type` on the wire).
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case actual = "ACTUAL"
        case predicted = "PREDICTED"
    }

    /// The newest position.
    public var location: Location
    /// The points since the last update that were not sent by themselves, oldest first, at most `maximumSkipped`.
    public var skipped: [Location]
    /// Positions between the last update and this one along the road, as other publishers of this shape send them.
    public var intermediate: [Location]
    /// Measured or extrapolated.
    public var kind: Kind

    /// The most skipped points that ride along with one update.
    public static let maximumSkipped = 60

    /// Makes an update.
    public init(location: Location, skipped: [Location] = [], intermediate: [Location] = [], kind: Kind = .actual) {
        self.location = location
        self.skipped = skipped
        self.intermediate = intermediate
        self.kind = kind
    }
}
