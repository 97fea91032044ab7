/// One fix: the position of a trackable at a time. An unknown value is `nil`, never a marker number such as -1.
public struct Location: Hashable, Sendable {
    /// The position.
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
    /// The record's number in its stream, from 1; `nil` for a point that no publisher captured (a prediction, a point
    /// from other software).
    public var seq: UInt64?
    /// The stream that numbers this point.
    public var stream: StreamID?
    /// Charge of the device's battery, 0…1.
    public var batteryLevel: Double?
    /// The tracking mode in force when the fix was captured.
    public var mode: TrackingMode?
    /// The trackable's kinds of motion; empty when unknown.
    public var motion: [Motion]
    /// The id of the trip that the fix belongs to; `nil` outside trips.
    public var tripID: String?
    /// The kind of source that produced the position.
    public var source: SourceKind?
    /// The bytes of a JSON object, at most 4 KiB. Godwit transports, stores and exports them unchanged.
    public var extra: [UInt8]?

    /// The maximum number of bytes of JSON in `extra`.
    public static let maximumExtraBytes = 4096

    /// Makes a fix with a position and a time. All other values are unknown until the caller sets them.
    public init(coordinate: Coordinate, time: UnixTime) {
        self.coordinate = coordinate
        self.time = time
        self.motion = []
    }
}

/// The device's tracking mode (`mode` on the wire).
public enum TrackingMode: String, Hashable, Sendable, CaseIterable {
    case active = "ACTIVE"
    case balanced = "BALANCED"
    case passive = "PASSIVE"
    case custom = "CUSTOM"
}

/// A kind of motion of a trackable (`motion` on the wire).
public enum Motion: String, Hashable, Sendable, CaseIterable {
    case driving, walking, running, cycling, stationary
}

/// The kind of source that produced a position (`source` on the wire).
public enum SourceKind: String, Hashable, Sendable, CaseIterable {
    case gps, network, replay, simulated, zone, predicted
}
