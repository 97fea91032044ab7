/// The match of a fix with a road of the map, as an enhancer publishes it (member `enhanced` of an update on the topic
/// `tracking/{id}/enhanced`).
public struct Enhancement: Hashable, Sendable {
    /// The certainty of a match: on a road, presumed on a road, or on no road.
    public enum Confidence: String, Hashable, Sendable, CaseIterable {
        /// The fix was matched with a road. Later fixes can still change the match until the point is final.
        case matched
        /// The fix itself was not matched. Its position is presumed on the way between its matched neighbours, for
        /// example in a tunnel.
        case presumed
        /// No road is near the fix, or the routing engine did not answer in time. The update contains the fix as the
        /// device sent it.
        case offRoad = "off-road"
    }

    /// The certainty of the match: on a road, presumed on a road, or on no road.
    public var confidence: Confidence
    /// The name of the road, at most 128 bytes; `nil` for a road without a name and off the road.
    public var road: String?
    /// The number of the OpenStreetMap way that the road belongs to; `nil` when unknown and off the road.
    public var way: UInt64?
    /// The class of the road in the routing engine's words, such as `motorway`, `secondary` or `residential`.
    public var roadClass: String?
    /// The speed limit of the road in metres per second, > 0; `nil` when unknown or unlimited.
    public var speedLimit: Double?
    /// The distance from the fix to its position on the road; `nil` off the road.
    public var offset: Meters?
    /// The highest number (`seq`) of the fix's stream whose match will never change; `nil` while no match is final.
    public var finalSeq: UInt64?

    /// The maximum size of a road name or a road class, in bytes of UTF-8. A longer one is cut.
    public static let maximumTextBytes = 128

    /// Makes the match of a fix with a road.
    public init(
        confidence: Confidence, road: String? = nil, way: UInt64? = nil, roadClass: String? = nil,
        speedLimit: Double? = nil, offset: Meters? = nil, finalSeq: UInt64? = nil
    ) {
        self.confidence = confidence
        self.road = road
        self.way = way
        self.roadClass = roadClass
        self.speedLimit = speedLimit
        self.offset = offset
        self.finalSeq = finalSeq
    }
}
