/// Detects that the device's wall clock was set, by comparison with the monotonic clock.
///
/// Each pair of readings is compared with the previous pair. Drift and slewing are not steps: a thousandth of the
/// elapsed time is allowed (NTP slews by at most 500 ppm).
public struct ClockStep: Sendable {
    /// The allowed difference, for the time between reading the two clocks and for steps too small to matter.
    private let tolerance: Duration
    private var last: (monotonic: MonotonicTime, wall: UnixTime)?

    /// Makes a detector without readings; `tolerance` ≥ 0.
    public init(tolerance: Duration = .seconds(2)) { self.tolerance = tolerance }

    /// Compares a new pair of readings with the previous pair. Read both clocks immediately after each other.
    ///
    /// - Returns: The time by which the wall clock was set since the previous pair (negative: back); `nil` when it was
    ///   not set, or by no more than the tolerance.
    public mutating func didRead(monotonic: MonotonicTime, wall: UnixTime) -> Duration? {
        defer { self.last = (monotonic, wall) }
        guard let last = self.last else { return nil }
        let elapsed = last.monotonic.duration(to: monotonic)
        let step = wall.since(last.wall) - elapsed
        let allowed = self.tolerance + elapsed / 1000
        return step > allowed || step < .zero - allowed ? step : nil
    }
}
