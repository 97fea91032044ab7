/// Decides whether the device's clock may be asked how old records are (`--keep-days`): a clock that jumped ahead would let go
/// everything that was not sent, so it is not asked until a receiver says the same.
public struct AgeTrust: Hashable, Sendable {
    /// A jump ahead of less makes no difference to days.
    private static let harmless: Duration = .seconds(3600)
    /// How far a clock that is right may be from a receiver's.
    private static let tolerance: Duration = .seconds(60)

    /// How far the clock was set ahead, all in all, since it was last believed.
    private var ahead: Duration = .zero

    /// Makes a value that believes the clock.
    public init() {}

    /// Whether the clock is believed.
    public var isGiven: Bool { self.ahead < Self.harmless }

    /// The clock was set, so far ahead; negative: back.
    public mutating func clockStepped(by step: Duration) { self.ahead = max(.zero, self.ahead + step) }

    /// A fix came while the clock said `wall`. Recordings tell nothing of today.
    public mutating func moved(_ fix: Location, wall: UnixTime) {
        guard !self.isGiven, fix.source == .gps || fix.source == .network else { return }
        let difference = wall.since(fix.time).inSeconds
        if abs(difference) < Self.tolerance.inSeconds { self.ahead = .zero }
    }
}
