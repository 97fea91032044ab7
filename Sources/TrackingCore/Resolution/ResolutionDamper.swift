/// The minimum pause between two changes of a trackable's resolution. The first change after the pause takes effect at
/// once.
public struct ChangePause: Hashable, Sendable {
    /// The shortest time between two changes: one second.
    public static let length: Duration = .seconds(1)

    /// The end of the pause that the last change began; `nil` before the first change.
    public private(set) var end: MonotonicTime?

    /// Makes a value without a pause, so that the first change may take effect at once.
    public init() {}

    /// Begins the next pause if the last one is over.
    ///
    /// - Returns: `true` when a change may take effect at `now`; `false` when it has to wait until ``end``.
    public mutating func begin(now: MonotonicTime) -> Bool {
        if let end = self.end, now < end { return false }
        self.end = now.advanced(by: Self.length)
        return true
    }
}

/// Limits one trackable's resolution to one change a second; the latest decision wins (`docs/reference/resolution.md`,
/// "Damping").
///
///     var damper = ResolutionDamper(funnel.current)
///     if let next = damper.decided(funnel.current, now: now) { sensor.use(next) }
///     // At damper.nextDeadline:
///     if let next = damper.timerFired(now: now) { sensor.use(next) }
public struct ResolutionDamper: Hashable, Sendable {
    /// The resolution in force.
    public private(set) var current: Resolution
    /// The latest decision. If it differs from ``current``, it takes effect at the end of the pause.
    private var latest: Resolution
    private var pause = ChangePause()

    /// Makes a damper with a resolution in force. The first change takes effect at once.
    public init(_ resolution: Resolution) {
        self.current = resolution
        self.latest = resolution
    }

    /// The time at which the latest decision takes effect; `nil` when no decision waits.
    public var nextDeadline: MonotonicTime? { self.latest == self.current ? nil : self.pause.end }

    /// Takes the latest decision and puts it into force if the pause is over.
    ///
    /// - Returns: The new resolution in force; `nil` when the resolution in force does not change now.
    public mutating func decided(_ resolution: Resolution, now: MonotonicTime) -> Resolution? {
        self.latest = resolution
        return self.timerFired(now: now)
    }

    /// Puts the latest decision into force if the pause is over.
    ///
    /// - Returns: The new resolution in force; `nil` when the resolution in force does not change.
    public mutating func timerFired(now: MonotonicTime) -> Resolution? {
        guard self.latest != self.current, self.pause.begin(now: now) else { return nil }
        self.current = self.latest
        return self.current
    }
}
