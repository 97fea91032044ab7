/// One fix: the position of a trackable at a time, with further measurements. A value that is unknown is `nil`, never a
/// special number such as -1.
public struct Location: Hashable, Sendable {
    /// The latitude and the longitude of the trackable at the time of the fix.
    public var coordinate: Coordinate
    /// The time at which the receiver measured the position.
    public var time: UnixTime
    /// Height above the WGS 84 ellipsoid, in metres.
    public var altitude: Double?
    /// Radius of the circle around the position that contains the true position with 68 % confidence, in metres, ≥ 0.
    public var accuracyHorizontal: Double?
    /// Error of `altitude` with 68 % confidence, in metres, ≥ 0.
    public var accuracyVertical: Double?
    /// Direction of travel, degrees from true north, 0 ≤ b < 360.
    public var bearing: Double?
    /// Error of `bearing` with 68 % confidence, in degrees, ≥ 0.
    public var accuracyBearing: Double?
    /// Ground speed in metres per second, ≥ 0.
    public var speed: Double?
    /// Error of `speed` with 68 % confidence, in metres per second, ≥ 0.
    public var accuracySpeed: Double?
    /// Storey of the building in which the trackable is, 0 at ground level.
    public var floor: Int?
    /// The number of the point in its stream, one life of a device's log, from 1. `nil` for a point that no log
    /// numbered: a prediction, or a point from other software.
    public var seq: UInt64?
    /// The id of the stream (one life of a device's log for one trackable) that numbers this point; `nil` for a point
    /// without a number.
    public var stream: StreamID?
    /// Charge of the device's battery, 0…1.
    public var batteryLevel: Double?
    /// The tracking mode of the device when the fix was captured: active, balanced, passive or custom.
    public var mode: TrackingMode?
    /// The trackable's kinds of motion at this time, such as driving; empty when unknown.
    public var motion: [Motion]
    /// The id of the trip that the fix belongs to; `nil` outside trips.
    public var tripID: String?
    /// The kind of source that produced the position, such as a GPS receiver or a simulation.
    public var source: SourceKind?
    /// Additional values as the bytes of a JSON object, at most 4 KiB. Godwit may add members of its own. It sends,
    /// stores and exports the other members unchanged.
    public var extra: [UInt8]?

    /// The maximum number of bytes of the JSON object in `extra`, the additional values of a fix.
    public static let maximumExtraBytes = 4096

    /// Makes a fix with a position and a time. All other values are unknown until the caller sets them.
    public init(coordinate: Coordinate, time: UnixTime) {
        self.coordinate = coordinate
        self.time = time
        self.motion = []
    }
}

/// The device's tracking mode, which sets how often it records while no subscriber requests more. It is named `mode` in
/// messages.
public enum TrackingMode: String, Hashable, Sendable, CaseIterable {
    case active = "ACTIVE"
    case balanced = "BALANCED"
    case passive = "PASSIVE"
    case custom = "CUSTOM"
}

/// A kind of motion of a trackable. It is named `motion` in messages.
public enum Motion: String, Hashable, Sendable, CaseIterable {
    case driving, walking, running, cycling, stationary
}

/// The kind of source from which a position comes. It is named `source` in messages.
///
/// The kinds are a satellite receiver (`gps`), a service that locates the device by nearby networks (`network`), a
/// replayed recording, a simulation, the centre of a privacy zone in place of the measured position (`zone`), and a
/// prediction.
public enum SourceKind: String, Hashable, Sendable, CaseIterable {
    case gps, network, replay, simulated, zone, predicted
}
