/// Detects that the device's wall clock was set to another time, by comparison with the monotonic clock.
///
/// Each pair of clock readings is compared with the previous pair. The times that elapsed on the two clocks may differ
/// by the tolerance plus a thousandth of the elapsed time. The gradual adjustment of NTP, at most 500 ppm, is therefore
/// not taken for a step.
public struct ClockStep: Sendable {
    /// The difference between the times elapsed on the two clocks that is always allowed. It covers the delay between
    /// reading one clock and reading the other, and steps too small to matter.
    private let tolerance: Duration
    private var last: (monotonic: MonotonicTime, wall: UnixTime)?

    /// Makes a detector of changes of the wall clock that has no clock readings yet. Between two readings, the wall
    /// clock and the monotonic clock may differ by `tolerance`, ≥ 0, without counting as a change.
    public init(tolerance: Duration = .seconds(2)) { self.tolerance = tolerance }

    /// Compares a new pair of clock readings with the previous pair. The caller reads both clocks immediately after
    /// each other.
    ///
    /// - Returns: The time by which the wall clock was set since the previous pair, negative for a step back. `nil` for
    ///   the first pair, and when the difference is within the allowed limits.
    public mutating func didRead(monotonic: MonotonicTime, wall: UnixTime) -> Duration? {
        defer { self.last = (monotonic, wall) }
        guard let last = self.last else { return nil }
        let elapsed = last.monotonic.duration(to: monotonic)
        let step = wall.since(last.wall) - elapsed
        let allowed = self.tolerance + elapsed / 1000
        return step > allowed || step < .zero - allowed ? step : nil
    }
}
