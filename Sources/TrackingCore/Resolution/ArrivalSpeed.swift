private import SystemLibrary

/// The smoothed speed of a trackable, with which its time to arrival is estimated.
///
/// The speed is an exponentially weighted mean over the times of the fixes, with a time constant of 2 min: a part of the
/// path that is 2 min old has about a third of the weight of the newest part. A stop at a traffic light therefore does
/// not change the estimate much. `docs/reference/resolution.md`, "Destination", contains the formula.
struct ArrivalSpeed: Sendable {
    /// The time constant of the exponentially weighted mean speed, in seconds: 120.
    private static let timeConstant = 120.0
    /// The least mean speed that is used to estimate the time to arrival, in metres a second: 1, a slow walk.
    private static let walkingSpeed = 1.0
    /// The time, in seconds, for which the last mean speed of at least ``walkingSpeed`` remains the result while the
    /// mean is below that speed: 120.
    private static let memory = 120.0
    /// The least time, in seconds, from the first fix of the path to the newest one for a mean speed to be used. Over a
    /// shorter time, the errors of two fixes would look like speed.
    private static let leastSpan = 0.9

    /// The sums from which the mean speed is calculated, with the time and the position of the newest fix.
    private struct State: Sendable {
        var time: UnixTime
        var coordinate: Coordinate
        /// The length of the path along the fixes, in metres. Older parts of the path have a smaller weight.
        var length = 0.0
        /// The time of the path along the fixes, in seconds, with the same weights as `length`. The mean speed is
        /// `length` divided by this time.
        var duration = 0.0
        /// The time from the first fix of the path to the newest one, in seconds, without weights.
        var span = 0.0
        /// The last mean speed of at least ``walkingSpeed``, in metres a second, and the time of the fix at which it
        /// was calculated. `nil` before the first such mean.
        var sufficient: (speed: Double, time: UnixTime)?
    }

    private var state: State?

    /// The speed with which the time to arrival is estimated, in metres a second: the last mean speed that was at least
    /// 1 m/s. `nil` when that mean is 2 min older than the newest fix, and before the path covers about a second.
    var metersPerSecond: Double? {
        guard let state = self.state, let sufficient = state.sufficient,
            state.time.since(sufficient.time) < .seconds(Self.memory)
        else { return nil }
        return sufficient.speed
    }

    /// Adds a fix to the path from which the mean speed is calculated. A fix that is older than the newest one begins a
    /// new path.
    mutating func moved(_ fix: Location) {
        guard var state = self.state, fix.time >= state.time else {
            self.state = State(time: fix.time, coordinate: fix.coordinate)
            return
        }
        let elapsed = fix.time.seconds - state.time.seconds
        guard elapsed > 0 else { return }
        let decay = exp(-elapsed / Self.timeConstant)
        let weight = Self.timeConstant * (1 - decay)
        let speed = state.coordinate.distance(to: fix.coordinate).value / elapsed
        state.length = state.length * decay + speed * weight
        state.duration = state.duration * decay + weight
        state.span += elapsed
        (state.time, state.coordinate) = (fix.time, fix.coordinate)
        let mean = state.length / state.duration
        if state.span >= Self.leastSpan, mean >= Self.walkingSpeed { state.sufficient = (mean, fix.time) }
        self.state = state
    }

    /// Forgets all fixes, so that the speed is unknown until new ones arrive.
    mutating func reset() { self.state = nil }
}
