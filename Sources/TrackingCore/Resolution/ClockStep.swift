/// Tells when the device's clock was set, from how far it is apart from the monotonic clock.
///
/// Drift and slewing are not steps: each pair is compared with the one before, and a thousandth of the time between them is
/// allowed for (NTP slews by at most 500 ppm).
public struct ClockStep: Sendable {
    /// What may pass between reading the one clock and the other, and what nobody minds.
    private let tolerance: Duration
    private var last: (monotonic: MonotonicTime, wall: UnixTime)?

    /// Makes a detector to which nothing was told yet; `tolerance` ≥ 0.
    public init(tolerance: Duration = .seconds(2)) { self.tolerance = tolerance }

    /// Both clocks were read, one right after the other.
    ///
    /// - Returns: how far the clock was set since the last reading (negative: back), or `nil` when it was not, or by no more
    ///   than is allowed for.
    public mutating func told(monotonic: MonotonicTime, wall: UnixTime) -> Duration? {
        defer { self.last = (monotonic, wall) }
        guard let last = self.last else { return nil }
        let elapsed = last.monotonic.duration(to: monotonic)
        let step = wall.since(last.wall) - elapsed
        let allowed = self.tolerance + elapsed / 1000
        return step > allowed || step < .zero - allowed ? step : nil
    }
}
