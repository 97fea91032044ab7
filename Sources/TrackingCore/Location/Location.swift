/// One fix: where the trackable was, and when. An unknown value is `nil`, never a marker number.
public struct Location: Hashable, Sendable {
    /// Where.
    public var coordinate: Coordinate
    /// The time of the fix.
    public var time: UnixTime
    /// Height above the WGS 84 ellipsoid, in metres.
    public var altitude: Double?
    /// Radius of 68 % confidence, in metres, ≥ 0.
    public var accuracyHorizontal: Double?
    /// 68 % confidence of `altitude`, in metres, ≥ 0.
    public var accuracyVertical: Double?
    /// Direction of travel, degrees from true north, 0 ≤ b < 360.
    public var bearing: Double?
    /// 68 % confidence of `bearing`, in degrees, ≥ 0.
    public var accuracyBearing: Double?
    /// Ground speed in metres a second, ≥ 0.
    public var speed: Double?
    /// 68 % confidence of `speed`, in metres a second, ≥ 0.
    public var accuracySpeed: Double?
    /// Storey of the building, 0 at ground level.
    public var floor: Int?
    /// The record's number in its stream, from 1; `nil` for what was never captured (a prediction, other people's fixes).
    public var seq: UInt64?
    /// The stream that `seq` counts in.
    public var stream: StreamID?
    /// Charge of the device's battery, 0…1.
    public var batteryLevel: Double?
    /// The tracking mode in force when the fix was captured.
    public var mode: TrackingMode?
    /// How the trackable moves.
    public var motion: [Motion]
    /// The trip that the fix belongs to.
    public var tripID: String?
    /// What kind of source told the position.
    public var source: SourceKind?
    /// A JSON object, at most 4 KiB, that is carried, stored and exported untouched: the bytes as they came.
    public var extra: [UInt8]?

    /// The most bytes of JSON in `extra`.
    public static let maximumExtraBytes = 4096

    /// Makes a fix of which only place and time are known; set what else is known afterwards.
    public init(coordinate: Coordinate, time: UnixTime) {
        self.coordinate = coordinate
        self.time = time
        self.motion = []
    }
}

/// How the device tracks (`mode` on the wire).
public enum TrackingMode: String, Hashable, Sendable, CaseIterable {
    case active = "ACTIVE"
    case balanced = "BALANCED"
    case passive = "PASSIVE"
    case custom = "CUSTOM"
}

/// How a trackable moves (`motion` on the wire).
public enum Motion: String, Hashable, Sendable, CaseIterable {
    case driving, walking, running, cycling, stationary
}

/// What kind of source told a position (`source` on the wire).
public enum SourceKind: String, Hashable, Sendable, CaseIterable {
    case gps, network, replay, simulated, zone, predicted
}
