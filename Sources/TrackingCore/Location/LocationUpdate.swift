/// An update: the message with a trackable's newest position, on the trackable's retained topic. It also contains the
/// earlier points that were not sent in updates of their own.
public struct LocationUpdate: Hashable, Sendable {
    /// The origin of a position: measured by a receiver, or extrapolated from earlier positions. It is named `type` in
    /// messages.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case actual = "ACTUAL"
        case predicted = "PREDICTED"
    }

    /// The newest position of the trackable at the time of the message, measured or predicted.
    public var location: Location
    /// The skipped points: those since the last update that were not sent in updates of their own. The oldest point is
    /// first; there are at most `maximumSkipped`.
    public var skipped: [Location]
    /// Positions along the road from the last update's position to this one, for a smooth display. Only updates on the
    /// topic `enhanced` have them; Godwit's own publishers send none.
    public var intermediate: [Location]
    /// The match of the position with a road; `nil` in an update that does not come from an enhancer.
    public var enhancement: Enhancement?
    /// The origin of the newest position: `actual` if it was measured, `predicted` if it was extrapolated.
    public var kind: Kind

    /// The maximum number of skipped points in one update: points that had no update of their own.
    public static let maximumSkipped = 60

    /// Makes an update from the newest position and the earlier points that it also contains.
    public init(
        location: Location, skipped: [Location] = [], intermediate: [Location] = [], kind: Kind = .actual,
        enhancement: Enhancement? = nil
    ) {
        self.location = location
        self.skipped = skipped
        self.intermediate = intermediate
        self.enhancement = enhancement
        self.kind = kind
    }
}
