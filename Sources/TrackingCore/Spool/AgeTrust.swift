/// The decision whether the device's clock is reliable enough to drop records because of their age (`--keep-days`).
///
/// If the clock jumps ahead, all unsent records look too old. After jumps of an hour in total, no record is dropped for
/// its age until the time of a GPS position confirms the clock, or the clock was set back.
public struct AgeTrust: Hashable, Sendable {
    /// The total time of jumps ahead from which the clock is no longer trusted: one hour. A shorter total does not
    /// matter, because the age limit of records is counted in days.
    private static let harmless: Duration = .seconds(3600)
    /// The tolerance for the device's clock. The clock counts as correct if it differs by less than this time from the
    /// time of a received GPS position.
    private static let tolerance = LivePosition.maximumAhead

    /// The sum of the clock's jumps ahead minus its jumps back, at least zero. From one hour on, the clock is not
    /// trusted. The sum becomes zero again when a GPS position confirms the clock.
    private var ahead: Duration = .zero

    /// Makes the state in which the device's clock is trusted.
    public init() {}

    /// `true` while the device's clock is trusted to judge the age of records.
    public var isGiven: Bool { self.ahead < Self.harmless }

    /// Registers that the clock was set: by a positive time ahead, or by a negative time back.
    public mutating func clockStepped(by step: Duration) { self.ahead = max(.zero, self.ahead + step) }

    /// Compares the time of a received position with the device's wall clock. If the two times agree, the clock is
    /// trusted again. Only GPS positions count. The time of a network position may be that of the same clock, and a
    /// replayed position can have a time in the past.
    public mutating func moved(_ fix: Location, wall: UnixTime) {
        guard !self.isGiven, fix.source == .gps else { return }
        let difference = wall.since(fix.time).inSeconds
        if abs(difference) < Self.tolerance.inSeconds { self.ahead = .zero }
    }
}
