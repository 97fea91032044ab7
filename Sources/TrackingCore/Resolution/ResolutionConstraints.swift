/// What a trackable itself wants of its resolution. The ancestor is Ably's `DefaultResolutionConstraints`.
public struct ResolutionConstraints: Hashable, Sendable {
    /// The trackable's own resolutions.
    public let resolutions: ResolutionSet
    /// What counts as near; `nil` means the trackable is never near.
    public let proximityThreshold: ProximityThreshold?
    /// The charge below which the interval is stretched, in percent, 0…100. The comparison is strict: 10 % is not below 10.
    public let batteryLevelThreshold: Double
    /// What the interval is multiplied with below the threshold, ≥ 1.
    public let lowBatteryMultiplier: Double
    /// The finest that a request can reach here, in place of the publisher's floor; `nil` leaves that one in force. To lift
    /// it, give a floor of `maximum`, 0 ms and 0 m.
    public let floor: Resolution?
    /// The coarsest that a request can reach here, in place of the publisher's ceiling; `nil` leaves that one in force.
    public let ceiling: Resolution?

    /// Makes constraints; without a threshold and a multiplier the battery plays no part.
    ///
    /// - Throws: `invalidConfiguration` when the threshold is outside 0…100, or the multiplier is below 1 or not finite.
    public init(
        resolutions: ResolutionSet, proximityThreshold: ProximityThreshold? = nil, batteryLevelThreshold: Double = 0,
        lowBatteryMultiplier: Double = 1, floor: Resolution? = nil, ceiling: Resolution? = nil
    ) throws(TrackingError) {
        guard (0...100).contains(batteryLevelThreshold) else {
            throw TrackingError(
                .invalidConfiguration,
                "batteryLevelThreshold must be 0 to 100 percent, not \(batteryLevelThreshold)")
        }
        guard lowBatteryMultiplier >= 1, lowBatteryMultiplier.isFinite else {
            throw TrackingError(
                .invalidConfiguration, "lowBatteryMultiplier must be 1 or more, not \(lowBatteryMultiplier)")
        }
        self.resolutions = resolutions
        self.proximityThreshold = proximityThreshold
        self.batteryLevelThreshold = batteryLevelThreshold
        self.lowBatteryMultiplier = lowBatteryMultiplier
        self.floor = floor
        self.ceiling = ceiling
    }
}
