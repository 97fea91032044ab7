/// The resolution policy of `docs/reference/resolution.md`: the finest of the trackable's own resolution and the
/// requests, with a longer interval while the battery is low.
public struct DefaultResolutionPolicy: ResolutionPolicy {
    /// Makes the policy. It has no settings and no state.
    public init() {}

    /// Returns the resolution for `conditions`, by the formula of `docs/reference/resolution.md` ("The decision").
    public func resolution(for conditions: TrackingConditions) -> Resolution {
        let asked = self.asked(conditions)
        guard let constraints = conditions.constraints else { return asked ?? conditions.default }
        let own = self.own(constraints.resolutions, conditions)
        let finest = asked.map(own.finer(of:)) ?? own
        return self.isLowBattery(conditions) ? finest.stretched(by: constraints.lowBatteryMultiplier) : finest
    }

    /// Returns `true` when the policy lengthens the interval: the charge is known and strictly below the constraints'
    /// threshold.
    public func isLowBattery(_ conditions: TrackingConditions) -> Bool { conditions.isLowBattery }

    /// Returns the finest request of the subscribers, limited by floor and ceiling; `nil` without requests. Limiting
    /// only the finest request gives the same result as limiting every request.
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
    /// Returns this resolution with its interval multiplied, truncated to whole milliseconds and limited to
    /// ``maximumInterval``.
    func stretched(by multiplier: Double) -> Resolution {
        let milliseconds = Double(self.desiredInterval.inMilliseconds) * multiplier
        return Resolution(
            unchecked: self.accuracy,
            milliseconds: Int64(min(milliseconds, Double(Self.maximumInterval.inMilliseconds))),
            displacement: self.minimumDisplacement)
    }
}
