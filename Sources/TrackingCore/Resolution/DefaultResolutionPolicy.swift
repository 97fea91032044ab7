/// The standard rule for the resolution of a trackable. For a trackable with constraints, the result is the finest
/// combination of the trackable's own resolution and the subscribers' requests. While the battery is low, its interval
/// between updates is multiplied by a factor of the constraints. Without constraints, the result is the combined
/// requests or, without requests, the publisher's default resolution.
///
/// `docs/reference/resolution.md` contains the exact rule.
public struct DefaultResolutionPolicy: ResolutionPolicy {
    /// Makes the standard policy, which decides a trackable's resolution. It has no settings and no state.
    public init() {}

    /// Returns the resolution of a trackable under the given conditions. `docs/reference/resolution.md` ("The
    /// decision") contains the formula.
    public func resolution(for conditions: TrackingConditions) -> Resolution {
        let asked = self.asked(conditions)
        guard let constraints = conditions.constraints else { return asked ?? conditions.default }
        let own = self.own(constraints.resolutions, conditions)
        let finest = asked.map(own.finer(of:)) ?? own
        return self.isLowBattery(conditions) ? finest.stretched(by: constraints.lowBatteryMultiplier) : finest
    }

    /// Returns `true` when the battery counts as low: its charge is known and below the threshold in the trackable's
    /// constraints. The policy then lengthens the interval between updates.
    public func isLowBattery(_ conditions: TrackingConditions) -> Bool { conditions.isLowBattery }

    /// Returns the finest of the subscribers' requests, limited by the floor and the ceiling; `nil` when there are no
    /// requests. Limiting only the finest request gives the same result as limiting every request.
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
    /// Returns this resolution with its interval multiplied by `multiplier`. The interval is truncated to whole
    /// milliseconds and is at most ``maximumInterval``.
    func stretched(by multiplier: Double) -> Resolution {
        let milliseconds = Double(self.desiredInterval.inMilliseconds) * multiplier
        return Resolution(
            unchecked: self.accuracy,
            milliseconds: Int64(min(milliseconds, Double(Self.maximumInterval.inMilliseconds))),
            displacement: self.minimumDisplacement)
    }
}
