/// The state of a rule for one trackable: the last observation, and a mark for a reported event.
public struct RuleState: Hashable, Sendable {
    /// `true` while the condition of the rule is met (inside the fence, silent, too fast, low battery, near the
    /// destination); `nil` before the first observation.
    public private(set) var holds: Bool?
    /// The time of the fix, or of the clock, at which ``holds`` changed.
    public private(set) var since: UnixTime?
    /// `true` when an event was reported since ``holds`` changed.
    public private(set) var isReported = false

    /// The largest horizontal accuracy of a fix that is compared with fences, in metres.
    public static let maximumAccuracy = 200.0

    /// Creates the state of a rule that has observed nothing yet.
    public init() {}

    /// Restores a saved state of a rule.
    public init(holds: Bool?, since: UnixTime?, isReported: Bool) {
        self.holds = holds
        self.since = since
        self.isReported = isReported
    }

    /// Creates the first state of a rule from the known facts, which produce no event. Speed and battery are evaluated
    /// with the next position.
    ///
    /// - Parameters:
    ///   - condition: The condition of the rule.
    ///   - last: The last known position; `nil` for none.
    ///   - isNear: `true` for a trackable near its destination; `nil` while unknown.
    ///   - isExpected: `true` for a trackable that can be silent: a message was received, or the rule names the
    ///     trackable.
    ///   - now: The time of the wall clock.
    init(beginning condition: Rule.Condition, at last: Location?, isNear: Bool?, isExpected: Bool, now: UnixTime) {
        switch condition {
        case .enter(let fence), .leave(let fence), .dwell(let fence, _):
            _ = self.observe(last.flatMap { self.isInside(fence, $0) }, now)
        case .silent:
            if isExpected { self.received(at: now) }
        case .arrived:
            _ = self.observe(isNear, now)
        case .speed, .lowBattery:
            break
        }
    }

    /// Evaluates a fix that is newer than the last one.
    ///
    /// - Returns: `true` when the rule produces an event.
    mutating func moved(_ condition: Rule.Condition, _ fix: Location, at now: UnixTime) -> Bool {
        switch condition {
        case .enter(let fence):
            return self.observe(self.isInside(fence, fix), fix.time) == true
        case .leave(let fence):
            return self.observe(self.isInside(fence, fix), fix.time) == false
        case .dwell(let fence, let time):
            _ = self.observe(self.isInside(fence, fix), fix.time)
            return self.lasted(time, at: fix.time)
        case .silent:
            // A retained position is no sign of life when its fix was known before.
            if self.since.map({ fix.time > $0 }) ?? true { self.received(at: now) }
            return false
        case .speed(let limit):
            guard let speed = fix.speed else { return false }
            let isFast = self.holds == true ? speed > limit * Self.speedingEndShare : speed > limit
            return self.began(isFast, fix.time)
        case .lowBattery(let percent):
            guard let level = fix.batteryLevel else { return false }
            let charge = level * 100
            let isLow =
                self.holds == true ? charge < min(100, percent + LowBatteryDetector.margin) : charge < percent
            return self.began(isLow, fix.time)
        case .arrived:
            return false
        }
    }

    /// Evaluates a late fix that is newer than the last one. A position outside of the fence ends dwelling.
    ///
    /// - Returns: `false`: a late fix produces no event.
    mutating func movedLate(_ condition: Rule.Condition, _ fix: Location) -> Bool {
        if case .dwell(let fence, _) = condition, self.isInside(fence, fix) == false {
            _ = self.observe(false, fix.time)
        }
        return false
    }

    /// Restarts the measurement of silence after a message, however late.
    mutating func received(at now: UnixTime) { self = RuleState(holds: false, since: now, isReported: false) }

    /// Excludes the time from `start` to `end`, when there was no connection, from the measurement of silence and
    /// dwelling.
    mutating func passedOver(_ condition: Rule.Condition, from start: UnixTime, to end: UnixTime) {
        guard !self.isReported, let since = self.since else { return }
        switch condition {
        case .silent: self.since = end
        case .dwell: self.since = since.advanced(by: max(.zero, end.since(max(start, since))))
        case .enter, .leave, .arrived, .speed, .lowBattery: break
        }
    }

    /// Evaluates the publisher's report that the trackable is near its destination.
    ///
    /// - Returns: `true` when the rule produces an event.
    mutating func came(near isNear: Bool, at time: UnixTime) -> Bool { self.observe(isNear, time) == true }

    /// Returns the time at which the rule produces an event without a further message; `nil` for never.
    func deadline(_ condition: Rule.Condition) -> UnixTime? {
        guard !self.isReported, let since = self.since else { return nil }
        switch condition {
        case .dwell(_, let time): return self.holds == true ? since.advanced(by: time) : nil
        case .silent(let time): return self.holds == false ? since.advanced(by: time) : nil
        case .enter, .leave, .arrived, .speed, .lowBattery: return nil
        }
    }

    /// Marks the event as reported that the rule produces at its deadline.
    mutating func deadlinePassed() { self.isReported = true }

    /// The share of a speed limit below which speeding ends: 0.9. A speed close to the limit is therefore one event.
    private static let speedingEndShare = 0.9

    /// Returns `true` for a fix inside the fence, with hysteresis; `nil` for a fix that is too inaccurate.
    private func isInside(_ fence: Fence, _ fix: Location) -> Bool? {
        let accuracy = fix.accuracyHorizontal ?? 0
        guard accuracy <= Self.maximumAccuracy else { return nil }
        guard self.holds == true else { return fence.contains(fix.coordinate) }
        // A trackable leaves once it is outside by more than margin and accuracy together.
        return fence.distance(from: fix.coordinate).value <= fence.margin.value + accuracy
    }

    /// Stores an observation of whether the condition is met.
    ///
    /// - Returns: The new value when it differs from an earlier observation; `nil` for no change and for the first
    ///   observation.
    private mutating func observe(_ holds: Bool?, _ time: UnixTime) -> Bool? {
        guard let holds, holds != self.holds else { return nil }
        let isFirst = self.holds == nil
        self = RuleState(holds: holds, since: time, isReported: false)
        return isFirst ? nil : holds
    }

    /// Stores an observation of speed or charge. Unlike other conditions, these produce an event at the first
    /// observation too.
    ///
    /// - Returns: `true` when the condition begins to be met.
    private mutating func began(_ holds: Bool, _ time: UnixTime) -> Bool {
        let isFirst = self.holds == nil
        return self.observe(holds, time) == true || (isFirst && holds)
    }

    /// Marks the event as reported if the condition has been met for at least `time`.
    ///
    /// - Returns: `true` when the condition has been met for that time and its event was not reported before.
    private mutating func lasted(_ time: Duration, at now: UnixTime) -> Bool {
        guard self.holds == true, !self.isReported, let since = self.since, since.advanced(by: time) <= now else {
            return false
        }
        self.isReported = true
        return true
    }
}
