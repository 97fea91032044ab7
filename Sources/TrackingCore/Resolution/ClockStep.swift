/// Notices when the device's wall clock is set, by comparing it with the monotonic one.
public struct ClockStep: Hashable, Sendable {
    private var difference: Double?

    /// A difference below this is drift or slewing, not a step.
    public static let tolerance: Duration = .seconds(2)

    /// Starts without a reading.
    public init() {}

    /// Both clocks were read.
    ///
    /// - Returns: How far the wall clock was set since the last reading, later is positive; `nil` when it was not.
    public mutating func read(monotonic: MonotonicTime, wall: UnixTime) -> Duration? {
        let difference = wall.seconds - monotonic.sinceOrigin.inSeconds
        defer { self.difference = difference }
        guard let last = self.difference else { return nil }
        let step = Duration.seconds(difference - last)
        return step > Self.tolerance || step < .zero - Self.tolerance ? step : nil
    }
}
