private import SystemLibrary
import TrackingCore

/// A simulated receiver whose position error changes slowly, as that of a real receiver does.
struct ReceiverModel: Sendable {
    /// The time constant of the simulated position error, in seconds: after this time, about a third of an error is
    /// left.
    private static let persistence = 20.0

    private var random: SplitMix64
    private var north: Double?
    private var east = 0.0
    private var last: UnixTime?

    /// Creates a simulated receiver; the same seed gives the same position errors.
    init(seed: UInt64) { self.random = SplitMix64(seed: seed ^ 0x5EED) }

    /// Returns the standard deviation of the position error to the north and to the east, in metres, for a class of
    /// accuracy.
    static func deviation(_ accuracy: Resolution.Accuracy) -> Double {
        switch accuracy {
        case .minimum: 60
        case .low: 25
        case .balanced: 8
        case .high: 3
        case .maximum: 1
        }
    }

    /// Returns the fix that the receiver makes of a vehicle. `speedFactor` is the vehicle's speed as a multiple of a
    /// car's.
    mutating func fix(
        of vehicle: DriveModel, at time: UnixTime, accuracy: Resolution.Accuracy, speedFactor: Double
    ) -> Location {
        let deviation = Self.deviation(accuracy)
        self.wander(to: time)
        let north = (self.north ?? 0) * deviation
        let east = self.east * deviation
        let offset = Meters((north * north + east * east).squareRoot())
        let direction = (atan2(east, north) * 180 / .pi).normalizedBearing
        var location = Location(
            coordinate: vehicle.coordinate.destination(bearing: direction, distance: offset), time: time)
        location.accuracyHorizontal = Confidence.radius(deviations: deviation, deviation)
        let isMoving = vehicle.speed > 0.3
        location.speed = isMoving ? max(0, (vehicle.speed + 0.1 * self.random.normal()) * speedFactor) : 0
        location.accuracySpeed = 0.1 * speedFactor
        if isMoving {
            location.bearing = (vehicle.bearing + 1.5 * self.random.normal()).normalizedBearing
            location.accuracyBearing = 1.5
        }
        location.source = .simulated
        return location
    }

    /// Changes the position error, in units of its standard deviation, as it wanders randomly until `time` (a
    /// Gauss–Markov process).
    private mutating func wander(to time: UnixTime) {
        guard let last = self.last, let north = self.north else {
            self.north = self.random.normal()
            self.east = self.random.normal()
            self.last = time
            return
        }
        let kept = exp(-max(0, time.since(last).inSeconds) / Self.persistence)
        let fresh = (1 - kept * kept).squareRoot()
        self.north = kept * north + fresh * self.random.normal()
        self.east = kept * self.east + fresh * self.random.normal()
        self.last = time
    }
}
