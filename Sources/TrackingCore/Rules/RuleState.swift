/// The state of one rule for one trackable: the last observation (for example, inside or outside the rule's fence), its
/// time, and whether the event was reported.
public struct RuleState: Hashable, Sendable {
    /// `true` while the trackable is inside the rule's fence (also for a rule about leaving it), too fast, low on
    /// battery or near its destination, otherwise `false`. For a rule about silence, it is `false`. `nil` before the
    /// first observation.
    public private(set) var holds: Bool?
    /// The time since which ``holds`` has its present value or, for a rule about silence, the time of the last message.
    /// For silence and for stays in a fence, it is moved later so that time without a connection to the broker does not
    /// count. `nil` before the first observation.
    public private(set) var since: UnixTime?
    /// `true` when a rule about silence or about a stay in a fence has produced its event since its condition last
    /// changed. Rules of other kinds leave the value `false`.
    public private(set) var isReported = false

    /// The greatest radius of error, in metres, of a position that is compared with fences: 200. A less exact position
    /// is ignored.
    public static let maximumAccuracy = 200.0

    /// Creates the state of a rule that has observed nothing yet.
    public init() {}

    /// Restores the saved state of a rule for one trackable.
    public init(holds: Bool?, since: UnixTime?, isReported: Bool) {
        self.holds = holds
        self.since = since
        self.isReported = isReported
    }

    /// Creates the first state of a rule from the known facts about a trackable. This produces no event. Rules about
    /// speed and battery begin with the next position.
    ///
    /// - Parameters:
    ///   - condition: The condition of the rule.
    ///   - last: The last known position; `nil` for none.
    ///   - isNear: `true` for a trackable near its destination; `nil` while unknown.
    ///   - isExpected: `true` when the measurement of silence begins now: a position was received, or the rule names
    ///     its trackables.
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

    /// Evaluates a position that is newer than the last one against the condition of the rule.
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

    /// Evaluates a late position, more than 120 s old but newer than the last one. It ends a stay in a fence when it is
    /// outside.
    ///
    /// - Returns: Always `false`: a late position produces no event.
    mutating func movedLate(_ condition: Rule.Condition, _ fix: Location) -> Bool {
        if case .dwell(let fence, _) = condition, self.isInside(fence, fix) == false {
            _ = self.observe(false, fix.time)
        }
        return false
    }

    /// Handles for a rule about silence that a message of the trackable was received at `now`. The trackable counts as
    /// silent only after a new full time without a message. The age of the position in the message does not matter.
    mutating func received(at now: UnixTime) { self = RuleState(holds: false, since: now, isReported: false) }

    /// Excludes the time from `start` to `end`, in which no message could be received, from the time that the rule
    /// measures. A stay in a fence then counts without that time, and silence is measured anew from `end`. Nothing
    /// changes for rules of other kinds, or if the event was already reported.
    mutating func passedOver(_ condition: Rule.Condition, from start: UnixTime, to end: UnixTime) {
        guard !self.isReported, let since = self.since else { return }
        switch condition {
        case .silent: self.since = end
        case .dwell: self.since = since.advanced(by: max(.zero, end.since(max(start, since))))
        case .enter, .leave, .arrived, .speed, .lowBattery: break
        }
    }

    /// Handles the publisher's report that its trackable is near its destination or not.
    ///
    /// - Returns: `true` when the rule produces an event, because the trackable came near.
    mutating func came(near isNear: Bool, at time: UnixTime) -> Bool { self.observe(isNear, time) == true }

    /// Returns the time at which the rule produces an event for the trackable if no further message of the trackable
    /// arrives; `nil` when it produces none.
    func deadline(_ condition: Rule.Condition) -> UnixTime? {
        guard !self.isReported, let since = self.since else { return nil }
        switch condition {
        case .dwell(_, let time): return self.holds == true ? since.advanced(by: time) : nil
        case .silent(let time): return self.holds == false ? since.advanced(by: time) : nil
        case .enter, .leave, .arrived, .speed, .lowBattery: return nil
        }
    }

    /// Stores that a rule about silence or about a stay in a fence has produced its event, because its time has passed
    /// without a further message. So the event is not produced twice.
    mutating func deadlinePassed() { self.isReported = true }

    /// The share of the speed limit at or below which speeding ends: 0.9. A speed that varies slightly around the limit
    /// therefore produces only one event.
    private static let speedingEndShare = 0.9

    /// Returns `true` for a position inside the fence, `false` for a position outside, and `nil` for a position that is
    /// too inaccurate. A trackable that was inside counts as outside only when its distance from the fence exceeds the
    /// fence's margin plus the accuracy radius of the position.
    private func isInside(_ fence: Fence, _ fix: Location) -> Bool? {
        let accuracy = fix.accuracyHorizontal ?? 0
        guard accuracy <= Self.maximumAccuracy else { return nil }
        guard self.holds == true else { return fence.contains(fix.coordinate) }
        // A trackable leaves once it is outside by more than margin and accuracy together.
        return fence.distance(from: fix.coordinate).value <= fence.margin.value + accuracy
    }

    /// Stores in ``holds`` if the condition of the rule is met, and since when. Changes nothing when the new value is
    /// `nil` (unknown).
    ///
    /// - Returns: The new value of ``holds`` when it differs from the previous one. `nil` when nothing changed, and for
    ///   the first observation.
    private mutating func observe(_ holds: Bool?, _ time: UnixTime) -> Bool? {
        guard let holds, holds != self.holds else { return nil }
        let isFirst = self.holds == nil
        self = RuleState(holds: holds, since: time, isReported: false)
        return isFirst ? nil : holds
    }

    /// Stores in ``holds`` if the condition of a rule about speed or battery is met. For these rules, the first
    /// observation can produce an event too.
    ///
    /// - Returns: `true` when the condition is met now and was not met before.
    private mutating func began(_ holds: Bool, _ time: UnixTime) -> Bool {
        let isFirst = self.holds == nil
        return self.observe(holds, time) == true || (isFirst && holds)
    }

    /// Stores that a rule about a stay in a fence produced its event, if the trackable has been inside for at least
    /// `time`.
    ///
    /// - Returns: `true` when the rule produces the event now. `false` when the stay was too short or the event was
    ///   already produced.
    private mutating func lasted(_ time: Duration, at now: UnixTime) -> Bool {
        guard self.holds == true, !self.isReported, let since = self.since, since.advanced(by: time) <= now else {
            return false
        }
        self.isReported = true
        return true
    }
}
