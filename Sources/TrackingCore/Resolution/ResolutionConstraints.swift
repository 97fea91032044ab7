/// The settings of a trackable that decide its resolution: its own resolutions, the threshold of being near, the
/// battery rule, and the limits of requests. They are modelled on Ably's `DefaultResolutionConstraints`.
public struct ResolutionConstraints: Hashable, Sendable {
    /// The trackable's own resolutions: near its destination or far from it, with or without subscribers.
    public let resolutions: ResolutionSet
    /// The distance or time to arrival below which the trackable is near its destination. Without a threshold (`nil`),
    /// it is never near.
    public let proximityThreshold: ProximityThreshold?
    /// The battery charge, 0…100 %, below which the interval between updates is lengthened. At exactly the threshold,
    /// the interval is not lengthened.
    public let batteryLevelThreshold: Double
    /// The factor, ≥ 1, by which the interval is multiplied while the battery charge is below
    /// ``batteryLevelThreshold``.
    public let lowBatteryMultiplier: Double
    /// The floor of this trackable, the finest resolution that a subscriber's request can reach. It replaces the
    /// publisher's floor; with `nil`, the publisher's floor applies. A floor of accuracy `maximum`, 0 ms and 0 m limits
    /// nothing.
    public let floor: Resolution?
    /// The ceiling of this trackable, the coarsest resolution that a subscriber's request can reach. A request for a
    /// coarser one counts as a request for the ceiling. It replaces the publisher's ceiling; with `nil`, the publisher's
    /// ceiling applies.
    public let ceiling: Resolution?

    /// Makes the constraints of a trackable. With the default battery threshold and multiplier, the battery has no
    /// effect.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the battery threshold is outside 0…100, or the
    ///   multiplier is below 1 or not finite.
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
