/// The minimum pause between two changes of a trackable's resolution. A change during the pause has to wait until its
/// end.
public struct ChangePause: Hashable, Sendable {
    /// The shortest time between two changes of a trackable's resolution: one second.
    public static let length: Duration = .seconds(1)

    /// The time at which the pause after the last change of the resolution ends, or has ended; `nil` before the first
    /// change.
    public private(set) var end: MonotonicTime?

    /// Makes the pause between two changes of a resolution, before the first change: the resolution may change at once.
    public init() {}

    /// Begins a pause at `now` because the resolution is to change, unless a pause is running already.
    ///
    /// - Returns: `true` when a pause has begun, and the resolution may change now. `false` when a pause was running,
    ///   so that the change has to wait until ``end``.
    public mutating func begin(now: MonotonicTime) -> Bool {
        if let end = self.end, now < end { return false }
        self.end = now.advanced(by: Self.length)
        return true
    }
}

/// Limits the changes of one trackable's resolution to one a second. Decisions that come faster wait, and only the
/// latest of them takes effect. `docs/reference/resolution.md`, "Damping", contains the rule.
///
///     var damper = ResolutionDamper(machine.current)
///     if let next = damper.decided(machine.current, now: now) { receiver.use(next) }
///     // At damper.nextDeadline:
///     if let next = damper.timerFired(now: now) { receiver.use(next) }
public struct ResolutionDamper: Hashable, Sendable {
    /// The resolution that the trackable uses now.
    public private(set) var current: Resolution
    /// The latest decided resolution. If it differs from ``current``, it takes effect one second after the last change
    /// of ``current``.
    private var latest: Resolution
    private var pause = ChangePause()

    /// Makes a damper for a trackable that uses the given resolution now. The first change of this resolution takes
    /// effect at once.
    public init(_ resolution: Resolution) {
        self.current = resolution
        self.latest = resolution
    }

    /// The time at which the latest decided resolution takes effect after its wait; `nil` when it is in effect already.
    public var nextDeadline: MonotonicTime? { self.latest == self.current ? nil : self.pause.end }

    /// Takes a newly decided resolution. It takes effect at once if the last change was at least a second ago;
    /// otherwise it waits.
    ///
    /// - Returns: The resolution that takes effect now; `nil` when the resolution does not change now.
    public mutating func decided(_ resolution: Resolution, now: MonotonicTime) -> Resolution? {
        self.latest = resolution
        return self.timerFired(now: now)
    }

    /// Puts the latest decided resolution into effect if the last change of the resolution was at least a second ago.
    ///
    /// - Returns: The resolution that takes effect now; `nil` when the resolution does not change.
    public mutating func timerFired(now: MonotonicTime) -> Resolution? {
        guard self.latest != self.current, self.pause.begin(now: now) else { return nil }
        self.current = self.latest
        return self.current
    }
}
