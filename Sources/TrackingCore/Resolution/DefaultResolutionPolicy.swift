/// The policy of `docs/resolution.md`: the finest of what the trackable wants and what is asked of it, stretched while the
/// battery is low.
public struct DefaultResolutionPolicy: ResolutionPolicy {
    /// Makes the policy; it has no settings and no memory.
    public init() {}

    /// The resolution for `conditions`, by the formula of `docs/resolution.md` ("The decision").
    public func resolution(for conditions: TrackingConditions) -> Resolution {
        let asked = self.asked(conditions)
        guard let constraints = conditions.constraints else { return asked ?? conditions.default }
        let own = self.own(constraints.resolutions, conditions)
        let finest = asked.map(own.finer(of:)) ?? own
        return self.isLowBattery(conditions) ? finest.stretched(by: constraints.lowBatteryMultiplier) : finest
    }

    /// Whether the interval is stretched: the battery is known and strictly below the constraints' threshold.
    public func isLowBattery(_ conditions: TrackingConditions) -> Bool { conditions.isLowBattery }

    /// The finest request, between floor and ceiling. Limiting the finest request limits each of them: every member takes
    /// minima and maxima of one order.
    private func asked(_ conditions: TrackingConditions) -> Resolution? {
        conditions.requests.finest.map(conditions.limited)
    }

    private func own(_ resolutions: ResolutionSet, _ conditions: TrackingConditions) -> Resolution {
        let isWatched = conditions.isWatched
        let near = resolutions.member(isNear: true, isWatched: isWatched) ?? conditions.default
        return conditions.isNear ? near : resolutions.member(isNear: false, isWatched: isWatched) ?? near
    }
}

extension Resolution {
    /// This resolution with its interval multiplied, truncated to whole milliseconds, and at most ``maximumInterval``.
    func stretched(by multiplier: Double) -> Resolution {
        let milliseconds = Double(self.desiredInterval.inMilliseconds) * multiplier
        return Resolution(
            unchecked: self.accuracy,
            milliseconds: Int64(min(milliseconds, Double(Self.maximumInterval.inMilliseconds))),
            displacement: self.minimumDisplacement)
    }
}
