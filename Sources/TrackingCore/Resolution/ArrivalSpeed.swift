private import SystemLibrary

/// The smoothed speed of a trackable, with which its time to arrival is estimated.
///
/// The speed is an exponentially weighted mean over the times of the fixes, with a time constant of 2 min: a part of the
/// path that is 2 min old has about a third of the weight of the newest part. A stop at a traffic light therefore does
/// not change the estimate much. `docs/reference/resolution.md`, "Destination", contains the formula.
struct ArrivalSpeed: Sendable {
    /// The time constant of the mean, in seconds.
    private static let timeConstant = 120.0
    /// The minimum speed of an estimate, in metres a second: a slow walk.
    private static let walkingSpeed = 1.0
    /// The time, in seconds, for which the last sufficient speed remains valid while the trackable is slower.
    private static let memory = 120.0
    /// The minimum time span of a path in seconds. Within a shorter span, the errors of two fixes would look like
    /// speed.
    private static let leastSpan = 0.9

    /// The state after the newest fix.
    private struct State: Sendable {
        var time: UnixTime
        var coordinate: Coordinate
        /// The weighted length of the path, in metres.
        var length = 0.0
        /// The weighted time of the path, in seconds.
        var duration = 0.0
        /// The time span of the path, without weights, in seconds.
        var span = 0.0
        /// The last mean of at least ``walkingSpeed``, and its time.
        var sufficient: (speed: Double, time: UnixTime)?
    }

    private var state: State?

    /// The speed of the estimate, in metres a second. While the mean is below 1 m/s, it is the last mean that was not,
    /// for 2 min. Then it is `nil`, as before the first path of about a second.
    var metersPerSecond: Double? {
        guard let state = self.state, let sufficient = state.sufficient,
            state.time.since(sufficient.time) < .seconds(Self.memory)
        else { return nil }
        return sufficient.speed
    }

    /// Adds a fix to the path. A fix that is older than the newest one begins a new path.
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

    /// Forgets the path, so that the speed is unknown.
    mutating func reset() { self.state = nil }
}
