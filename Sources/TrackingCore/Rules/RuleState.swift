/// How a rule stands for one trackable: what was seen, and whether it was told.
public struct RuleState: Hashable, Sendable {
    /// Whether the condition holds: inside, silent, too fast, low, near. `nil` while nothing was seen.
    public private(set) var holds: Bool?
    /// Since when, by the fix or the clock that showed it.
    public private(set) var since: UnixTime?
    /// Whether it was told since it holds; of `leave`, since it does not.
    public private(set) var isTold = false

    /// A fix with a greater radius of confidence says nothing about fences.
    public static let maximumAccuracy = 200.0

    /// Nothing was seen.
    public init() {}

    /// What was kept.
    public init(holds: Bool?, since: UnixTime?, isTold: Bool) {
        self.holds = holds
        self.since = since
        self.isTold = isTold
    }

    /// A rule begins: what is known tells nothing, and is what it goes on from. Who is too fast or low is told with the next
    /// position.
    ///
    /// - Parameters:
    ///   - last: The last position, where one is known.
    ///   - isNear: Whether the trackable is near its destination, where that is known.
    ///   - isExpected: Whether it can be silent: something came of it, or the rule names it.
    init(beginning condition: Rule.Condition, at last: Location?, isNear: Bool?, isExpected: Bool, now: UnixTime) {
        switch condition {
        case .enter(let fence), .leave(let fence), .dwell(let fence, _):
            _ = self.seen(last.flatMap { self.isInside(fence, $0) }, now)
        case .silent:
            if isExpected { self.heard(at: now) }
        case .arrived:
            _ = self.seen(isNear, now)
        case .speed, .lowBattery:
            break
        }
    }

    /// A fix that is newer than the last came at `now`.
    ///
    /// - Returns: Whether it is to be told now.
    mutating func moved(_ condition: Rule.Condition, _ fix: Location, at now: UnixTime) -> Bool {
        switch condition {
        case .enter(let fence):
            return self.seen(self.isInside(fence, fix), fix.time) == true
        case .leave(let fence):
            return self.seen(self.isInside(fence, fix), fix.time) == false
        case .dwell(let fence, let time):
            _ = self.seen(self.isInside(fence, fix), fix.time)
            return self.lasted(time, at: fix.time)
        case .silent:
            // What the broker kept is no sign where it was heard before.
            if self.since.map({ fix.time > $0 }) ?? true { self.heard(at: now) }
            return false
        case .speed(let limit):
            guard let speed = fix.speed else { return false }
            let isFast = self.holds == true ? speed > limit * Self.calmShare : speed > limit
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

    /// A fix that is newer than the last came late: nothing is to be told of it. Who was outside by then does not stay any more.
    ///
    /// - Returns: `false`.
    mutating func movedLate(_ condition: Rule.Condition, _ fix: Location) -> Bool {
        if case .dwell(let fence, _) = condition, self.isInside(fence, fix) == false { _ = self.seen(false, fix.time) }
        return false
    }

    /// Something came of a trackable, however late: it is not silent.
    mutating func heard(at now: UnixTime) { self = RuleState(holds: false, since: now, isTold: false) }

    /// Nobody listened from `start` to `end`: nobody was silent then, and nobody was seen to stay.
    mutating func passedOver(_ condition: Rule.Condition, from start: UnixTime, to end: UnixTime) {
        guard !self.isTold, let since = self.since else { return }
        switch condition {
        case .silent: self.since = end
        case .dwell: self.since = since.advanced(by: max(.zero, end.since(max(start, since))))
        case .enter, .leave, .arrived, .speed, .lowBattery: break
        }
    }

    /// The publisher says whether the trackable is near its destination.
    mutating func came(near isNear: Bool, at time: UnixTime) -> Bool { self.seen(isNear, time) == true }

    /// When it would be told without anything more being seen; `nil` when never.
    func deadline(_ condition: Rule.Condition) -> UnixTime? {
        guard !self.isTold, let since = self.since else { return nil }
        switch condition {
        case .dwell(_, let time): return self.holds == true ? since.advanced(by: time) : nil
        case .silent(let time): return self.holds == false ? since.advanced(by: time) : nil
        case .enter, .leave, .arrived, .speed, .lowBattery: return nil
        }
    }

    /// The deadline came.
    mutating func deadlineCame() { self.isTold = true }

    /// Of the limit of a speed: as fast as this, it does not go too fast any more.
    private static let calmShare = 0.9

    /// Whether the fix is inside, with hysteresis; `nil` when it does not tell.
    private func isInside(_ fence: Fence, _ fix: Location) -> Bool? {
        let accuracy = fix.accuracyHorizontal ?? 0
        guard accuracy <= Self.maximumAccuracy else { return nil }
        guard self.holds == true else { return fence.contains(fix.coordinate) }
        // Who was inside has left when it is outside for sure.
        return fence.distance(from: fix.coordinate).value <= fence.margin.value + accuracy
    }

    /// - Returns: What holds now, where that is a crossing: something else held before.
    private mutating func seen(_ holds: Bool?, _ time: UnixTime) -> Bool? {
        guard let holds, holds != self.holds else { return nil }
        let isFirst = self.holds == nil
        self = RuleState(holds: holds, since: time, isTold: false)
        return isFirst ? nil : holds
    }

    /// - Returns: Whether it holds from now on. Who is too fast or low when first seen is: there is no other side that it could
    ///   have crossed from.
    private mutating func began(_ holds: Bool, _ time: UnixTime) -> Bool {
        let isFirst = self.holds == nil
        return self.seen(holds, time) == true || (isFirst && holds)
    }

    private mutating func lasted(_ time: Duration, at now: UnixTime) -> Bool {
        guard self.holds == true, !self.isTold, let since = self.since, since.advanced(by: time) <= now else {
            return false
        }
        self.isTold = true
        return true
    }
}
