import TrackingCore

/// Decides when a receiver sleeps between two fixes, and when it wakes. It uses no receiver and no clock.
///
/// The receiver sleeps only while the wanted interval is longer than ``limit``. It wakes before the next fix is due, by
/// the time that it recently needed from waking to a fix of the wanted accuracy. It sleeps again after a fix that was
/// due, once the fixes have reached the wanted accuracy.
struct ReceiverPower: Sendable {
    /// An instruction to the caller: put the receiver to sleep, or wake it.
    enum Effect: Hashable, Sendable {
        /// Put the receiver to sleep. The caller calls ``timerFired(now:)`` at this time.
        case sleep(until: MonotonicTime)
        case wake
    }

    /// The least value of ``limit``: 60 s.
    static let leastLimit: Duration = .seconds(60)
    /// The time from waking to the first fix that is assumed before one was measured.
    static let firstLead: Duration = .seconds(10)
    /// The time for which a receiver that was not asleep before searches for its first fix. A cold start may take
    /// minutes.
    static let firstSearch: Duration = .seconds(300)
    /// The time for which a woken receiver searches for a fix before it sleeps again. It doubles after each search
    /// without a fix, up to ``firstSearch``.
    static let search: Duration = .seconds(60)
    /// The time by which a fix that ends the receiver's waking time is later than the interval requires. The update
    /// filter compares times of fixes, and their transmission takes a varying time.
    private static let margin: Duration = .milliseconds(500)
    /// The time after which slow starts are forgotten, if the receiver no longer sleeps because of them.
    private static let retry: Duration = .seconds(900)
    /// The number of measured times from waking to the first fix that count, and from there to the wanted accuracy.
    private static let startCount = 20

    private struct Awake: Sendable {
        let since: MonotonicTime
        /// `true` if the receiver was woken, `false` if it was awake when the source opened it.
        let isWoken: Bool
        var firstFix: MonotonicTime?
        var lastFix: MonotonicTime?
        /// `true` once the fixes have reached the wanted accuracy.
        var isSettled = false
        /// `true` once a fix arrived that was due.
        var isServed = false
    }

    private enum State: Sendable {
        /// The receiver measures, or searches for its first fix. Next state: `asleep`.
        case awake(Awake)
        /// The receiver sleeps. Next state: `awake`.
        case asleep(until: MonotonicTime)
    }

    private var state: State
    private var resolution: Resolution?
    /// The arrival of the last fix that was due. The next fix is due one interval later.
    private var served: MonotonicTime?
    /// The time from which the interval to the next fix counts at the earliest. It is earlier than ``served`` after the
    /// receiver was awake all the time, because any of the fixes of the last interval may have been published.
    private var base: MonotonicTime?
    /// The last measured times from waking to the first fix.
    private var starts: [Duration] = []
    /// The last measured times from the first fix after waking to a fix of the wanted accuracy.
    private var settlings: [Duration] = []
    /// The time of the last measurement of a start.
    private var startMeasured: MonotonicTime?
    private var failedSearches = 0

    /// Creates the decision for a receiver that is awake.
    ///
    /// - Parameter resolution: The wanted resolution; `nil` if it is not known yet. The receiver then stays awake.
    init(resolution: Resolution?, now: MonotonicTime) {
        self.resolution = resolution
        self.state = .awake(Awake(since: now, isWoken: false))
    }

    /// `true` while the receiver sleeps.
    var isAsleep: Bool { self.asleepUntil != nil }

    /// The time until which the receiver sleeps; `nil` while it is awake.
    var asleepUntil: MonotonicTime? {
        if case .asleep(let until) = self.state { until } else { nil }
    }

    /// The time before the next due fix at which the receiver is woken, so that this fix has the wanted accuracy.
    ///
    /// It is the time for the first fix, and the longest of the last 20 times from the first fix to the wanted accuracy.
    /// Before one was measured, it is the longest time for which the receiver measures for its class of accuracy. It is
    /// always shorter than ``limit``, so that a receiver which searched in vain can sleep again.
    var lead: Duration { self.start + (self.settlings.max() ?? self.accuracy.settlingTime) }

    /// The time from waking to the first fix that the receiver is given: two seconds more than the longest of its last
    /// 20 starts.
    private var start: Duration { self.starts.max().map { $0 + .seconds(2) } ?? Self.firstLead }

    private var accuracy: Resolution.Accuracy { self.resolution?.accuracy ?? .high }

    /// The longest interval at which the receiver does not sleep: four times the time that it is given for its first
    /// fix, but at least 60 s. A receiver that needs long for its first fix saves nothing by short sleeps.
    var limit: Duration { max(Self.leastLimit, self.start * 4) }

    /// The resolution to request from the receiver while it is awake; `nil` while none is wanted. If the receiver
    /// sleeps between fixes, the interval is one second, so that the first fix is not delayed by a long cycle.
    var awakeResolution: Resolution? { self.sleeps ? self.resolution?.atOnce : self.resolution }

    /// The time at which the caller must call ``timerFired(now:)`` next; `nil` for no such time.
    var deadline: MonotonicTime? {
        switch self.state {
        case .asleep(let until): until
        case .awake(let awake):
            self.sleeps ? (awake.lastFix ?? awake.since).advanced(by: self.patience(awake)) : nil
        }
    }

    /// Stores the resolution that the trackables need from now on. A finer one may wake the receiver.
    mutating func wanted(_ resolution: Resolution, now: MonotonicTime) -> Effect? {
        let (last, slept) = (self.resolution, self.sleeps)
        // The times were measured for another class of accuracy.
        if resolution.accuracy != self.accuracy { self.settlings = [] }
        self.resolution = resolution
        guard case .asleep(let until) = self.state else {
            if !slept, self.sleeps { self.widenBase(by: last) }
            return nil
        }
        let next = self.nextWake ?? now
        guard next <= now else {
            self.state = .asleep(until: min(until, next))
            return nil
        }
        return self.wake(now: now)
    }

    /// Handles a fix of the receiver. Returns the instruction to put the receiver to sleep, if nothing more is needed
    /// from it before the next fix is due.
    mutating func received(_ fix: Location, now: MonotonicTime) -> Effect? {
        guard case .awake(var awake) = self.state else { return nil }
        self.forgetSlowStarts(now: now)
        if awake.firstFix == nil {
            awake.firstFix = now
            self.failedSearches = 0
            if awake.isWoken { self.measured(awake.since.duration(to: now), now: now) }
        }
        awake.lastFix = now
        if self.isDue(now: now) {
            (self.served, self.base) = (now, now)
            awake.isServed = true
        }
        let settling = awake.firstFix?.duration(to: now) ?? .zero
        let isSettled = self.isSettled(fix, for: settling)
        if isSettled, !awake.isSettled {
            awake.isSettled = true
            // A gap in the fixes may be longer than the time that the receiver is given.
            let time = min(settling, self.accuracy.settlingTime)
            if awake.isWoken { self.settlings = self.settlings.suffix(Self.startCount - 1) + [time] }
        }
        self.state = .awake(awake)
        return awake.isServed && isSettled ? self.sleep(now: now) : nil
    }

    /// Handles that ``deadline`` has passed. Wakes a sleeping receiver. Puts a receiver to sleep that found no fix for
    /// too long.
    mutating func timerFired(now: MonotonicTime) -> Effect? {
        guard let deadline = self.deadline, now >= deadline else { return nil }
        if self.isAsleep { return self.wake(now: now) }
        self.failedSearches += 1
        (self.served, self.base) = (now, now)
        return self.sleep(now: now)
    }

    /// `true` if the wanted interval is so long that the receiver sleeps between two fixes.
    private var sleeps: Bool { self.resolution.map { $0.desiredInterval > self.limit } ?? false }

    /// The time at which the receiver must wake for the next fix. `nil` if it must be awake now, because it does not
    /// sleep at the wanted interval or because the next time is not known.
    private var nextWake: MonotonicTime? {
        guard self.sleeps, let base = self.base, let resolution = self.resolution else { return nil }
        return base.advanced(by: resolution.desiredInterval - self.lead)
    }

    private func isDue(now: MonotonicTime) -> Bool {
        guard self.sleeps, let served = self.served, let resolution = self.resolution else { return true }
        return now >= served.advanced(by: resolution.desiredInterval + Self.margin)
    }

    private func patience(_ awake: Awake) -> Duration {
        guard awake.isWoken else { return Self.firstSearch }
        return min(Self.firstSearch, Self.search * (1 << min(self.failedSearches, 3)))
    }

    private mutating func measured(_ start: Duration, now: MonotonicTime) {
        self.starts = self.starts.suffix(Self.startCount - 1) + [start]
        self.startMeasured = now
    }

    /// Handles that a receiver that was awake all the time may sleep now. The last published fix is at most one interval
    /// of the last resolution older than the last fix.
    private mutating func widenBase(by last: Resolution?) {
        guard let last else { return }
        self.base = self.served?.advanced(by: Duration.zero - last.desiredInterval)
    }

    /// Forgets slow starts after a while, because a receiver that does not sleep measures no others.
    private mutating func forgetSlowStarts(now: MonotonicTime) {
        guard !self.sleeps, let measured = self.startMeasured, measured.duration(to: now) >= Self.retry else { return }
        (self.starts, self.startMeasured) = ([], nil)
        if self.sleeps { self.widenBase(by: self.resolution) }
    }

    private mutating func wake(now: MonotonicTime) -> Effect {
        self.state = .awake(Awake(since: now, isWoken: true))
        return .wake
    }

    private mutating func sleep(now: MonotonicTime) -> Effect? {
        guard let until = self.nextWake, until > now else { return nil }
        self.state = .asleep(until: until)
        return .sleep(until: until)
    }

    /// Returns `true` if the receiver's fixes have reached the wanted class of accuracy. The first fixes after waking
    /// are the worst ones. A receiver that does not reach the class within its time is not waited for.
    ///
    /// - Parameter time: The time since the first fix after waking.
    private func isSettled(_ fix: Location, for time: Duration) -> Bool {
        time >= self.accuracy.settlingTime || (fix.accuracyHorizontal ?? .infinity) <= self.accuracy.settledRadius
    }
}

extension Resolution.Accuracy {
    /// The time that a woken receiver measures at most after its first fix, so that its fixes become more accurate.
    fileprivate var settlingTime: Duration {
        switch self {
        case .minimum, .low: .zero
        case .balanced: .seconds(3)
        case .high: .seconds(5)
        case .maximum: .seconds(10)
        }
    }

    /// The radius of accuracy in metres with which a fix is good enough for the class, so that a woken receiver may
    /// sleep again.
    fileprivate var settledRadius: Double {
        switch self {
        case .minimum, .low: .infinity
        case .balanced: 30
        case .high: 10
        case .maximum: 3
        }
    }
}
