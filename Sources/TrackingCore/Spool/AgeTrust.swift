/// Decides whether the device's clock is reliable enough to judge the age of records (`--keep-days`). With a clock that
/// jumped ahead, all unsent records would look expired. After such a jump, ages are not judged until a receiver
/// confirms the time.
public struct AgeTrust: Hashable, Sendable {
    /// The maximum jump ahead that is ignored, because it does not matter for ages in days.
    private static let harmless: Duration = .seconds(3600)
    /// The maximum difference between a correct clock and a receiver's time.
    private static let tolerance = LivePosition.maximumAhead

    /// The sum of the jumps ahead since the clock was last trusted.
    private var ahead: Duration = .zero

    /// Makes a value that trusts the device's clock.
    public init() {}

    /// `true` while the device's clock is trusted to judge the age of records.
    public var isGiven: Bool { self.ahead < Self.harmless }

    /// Records a step of the clock: positive for a step ahead, negative for a step back.
    public mutating func clockStepped(by step: Duration) { self.ahead = max(.zero, self.ahead + step) }

    /// Compares the time of a fix from a receiver with the wall clock. A match makes the clock trusted again. Fixes of
    /// recordings are ignored, because their times are in the past.
    public mutating func moved(_ fix: Location, wall: UnixTime) {
        guard !self.isGiven, fix.source == .gps || fix.source == .network else { return }
        let difference = wall.since(fix.time).inSeconds
        if abs(difference) < Self.tolerance.inSeconds { self.ahead = .zero }
    }
}
