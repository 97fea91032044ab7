/// The resolutions that a trackable itself requires, with their conditions. Modelled on Ably's
/// `DefaultResolutionConstraints`.
public struct ResolutionConstraints: Hashable, Sendable {
    /// The trackable's own resolutions.
    public let resolutions: ResolutionSet
    /// The threshold for being near the destination; `nil`: the trackable is never near.
    public let proximityThreshold: ProximityThreshold?
    /// The battery charge in percent, 0…100, below which the interval is lengthened. The comparison is strict: 10 % is
    /// not below 10.
    public let batteryLevelThreshold: Double
    /// The factor of the interval while the charge is below the threshold, ≥ 1.
    public let lowBatteryMultiplier: Double
    /// The finest resolution that a request for this trackable can reach; it replaces the publisher's floor. With
    /// `nil`, the publisher's floor applies. A floor of `maximum`, 0 ms and 0 m removes the limit.
    public let floor: Resolution?
    /// The coarsest resolution that a request for this trackable can reach; it replaces the publisher's ceiling. With
    /// `nil`, the publisher's ceiling applies.
    public let ceiling: Resolution?

    /// Makes constraints. With the default threshold and multiplier, the battery has no effect.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the threshold is outside 0…100, or the multiplier is
    ///   below 1 or not finite.
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
