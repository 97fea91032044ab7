/// A message of the live lane, the retained topic with a trackable's newest position: that position, and the points
/// before it that were not sent in updates of their own.
public struct LocationUpdate: Hashable, Sendable {
    /// The origin of a position: measured or extrapolated (`type` on the wire).
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case actual = "ACTUAL"
        case predicted = "PREDICTED"
    }

    /// The newest position.
    public var location: Location
    /// The points since the last update that were not sent in updates of their own, oldest first; at most
    /// `maximumSkipped`.
    public var skipped: [Location]
    /// Positions along the road between the last update and this one. Godwit's publishers send none; other publishers
    /// of this message format do.
    public var intermediate: [Location]
    /// The origin of the newest position: measured (`actual`) or extrapolated (`predicted`).
    public var kind: Kind

    /// The maximum number of skipped points in one update.
    public static let maximumSkipped = 60

    /// Makes an update of a position and the points before it.
    public init(location: Location, skipped: [Location] = [], intermediate: [Location] = [], kind: Kind = .actual) {
        self.location = location
        self.skipped = skipped
        self.intermediate = intermediate
        self.kind = kind
    }
}
