/// The prediction of a position from the last fix: the trackable continues at the speed and in the direction of the fix.
///
/// The predicted position is the destination of a great circle with the bearing of the fix and the length `v · t`
/// ([Aviation Formulary, "Lat/lon given radial and distance"](https://edwilliams.org/avform147.htm#LL)). Its radius of
/// error is the combined standard uncertainty of independent quantities
/// ([JCGM 100:2008](https://www.bipm.org/en/committees/jc/jcgm/publications), 5.1.2):
///
///     σ² = σ₀² + (σᵥ · t)² + (v · t · σᵦ)² + (½ · a · t²)²
///
/// with the radius of error `σ₀` of the fix, the errors `σᵥ` of its speed and `σᵦ` of its bearing in radians, and the
/// acceleration `a`, which stands for braking and turning that nothing measured.
package struct DeadReckoning: Hashable, Sendable {
    /// The least speed of a trackable whose position is predicted, in m/s. A slower one is likely to stand.
    static let leastSpeed = 1.0
    /// The acceleration that nothing measured, in m/s².
    static let acceleration = 0.5
    /// The errors of a fix whose receiver does not report them: in metres, m/s and degrees.
    static let usualErrors = (position: 10.0, speed: 1.0, bearing: 10.0)

    private let fix: Location
    private let speed: Double
    private let bearing: Double

    /// Makes the prediction from a fix; returns `nil` if the speed or the bearing of the fix is unknown, or if the
    /// trackable moves too slowly.
    package init?(from fix: Location) {
        guard let speed = fix.speed, speed >= Self.leastSpeed, speed.isFinite, let bearing = fix.bearing,
            bearing.isFinite
        else { return nil }
        self.fix = fix
        self.speed = speed
        self.bearing = bearing
    }

    /// Returns the predicted position, without a record number. Its source is `predicted`.
    ///
    /// - Parameter elapsed: The time since the fix, > 0.
    package func position(after elapsed: Duration) -> Location {
        let seconds = elapsed.inSeconds
        let length = self.speed * seconds
        var predicted = Location(
            coordinate: self.fix.coordinate.destination(bearing: self.bearing, distance: Meters(length)),
            time: self.fix.time.advanced(by: elapsed))
        predicted.accuracyHorizontal = self.error(after: seconds, length: length)
        predicted.speed = self.speed
        predicted.bearing = self.bearing
        predicted.mode = self.fix.mode
        predicted.motion = self.fix.motion
        predicted.source = .predicted
        return predicted
    }

    private func error(after seconds: Double, length: Double) -> Double {
        let usual = Self.usualErrors
        let errors = [
            self.fix.accuracyHorizontal ?? usual.position,
            (self.fix.accuracySpeed ?? usual.speed) * seconds,
            length * (self.fix.accuracyBearing ?? usual.bearing).radians,
            Self.acceleration * seconds * seconds / 2,
        ]
        return errors.reduce(0) { $0 + $1 * $1 }.squareRoot()
    }
}
