/// A trackable's own resolutions: far from or near its destination, with or without somebody watching.
public struct ResolutionSet: Hashable, Sendable {
    /// Far from the destination, nobody watching.
    public let farWithoutSubscriber: Resolution?
    /// Far from the destination, watched.
    public let farWithSubscriber: Resolution?
    /// Near the destination, nobody watching.
    public let nearWithoutSubscriber: Resolution?
    /// Near the destination, watched.
    public let nearWithSubscriber: Resolution?

    /// Makes a set of which at least one member is given.
    ///
    /// - Throws: `invalidConfiguration` when none is.
    public init(
        farWithoutSubscriber: Resolution? = nil, farWithSubscriber: Resolution? = nil,
        nearWithoutSubscriber: Resolution? = nil, nearWithSubscriber: Resolution? = nil
    ) throws(TrackingError) {
        guard farWithoutSubscriber ?? farWithSubscriber ?? nearWithoutSubscriber ?? nearWithSubscriber != nil else {
            throw TrackingError(.invalidConfiguration, "a resolution set has at least one member; none was given")
        }
        self.farWithoutSubscriber = farWithoutSubscriber
        self.farWithSubscriber = farWithSubscriber
        self.nearWithoutSubscriber = nearWithoutSubscriber
        self.nearWithSubscriber = nearWithSubscriber
    }

    /// Makes a set in which one resolution stands for all four.
    public init(all resolution: Resolution) {
        self.farWithoutSubscriber = resolution
        self.farWithSubscriber = resolution
        self.nearWithoutSubscriber = resolution
        self.nearWithSubscriber = resolution
    }

    /// The member for a situation; far falls back to near, near never to far.
    func member(isNear: Bool, isWatched: Bool) -> Resolution? {
        let near = isWatched ? self.nearWithSubscriber : self.nearWithoutSubscriber
        let far = isWatched ? self.farWithSubscriber : self.farWithoutSubscriber
        return isNear ? near : far ?? near
    }
}

/// When a trackable is near its destination: closer than a distance, sooner than a time, or either where both are given.
public struct ProximityThreshold: Hashable, Sendable {
    /// The distance to the destination.
    public let spatial: Meters?
    /// The time to arrival.
    public let temporal: Duration?

    /// Makes a threshold of which at least one part is given; both are above zero.
    ///
    /// - Throws: `invalidConfiguration` that says which rule is broken.
    public init(spatial: Meters? = nil, temporal: Duration? = nil) throws(TrackingError) {
        guard spatial != nil || temporal != nil else {
            throw TrackingError(.invalidConfiguration, "a proximity threshold is a distance, a time or both; none was given")
        }
        if let spatial, !(spatial.value > 0 && spatial.value.isFinite) {
            throw TrackingError(.invalidConfiguration, "the proximity must be above 0 m, not \(spatial.value)")
        }
        if let temporal, temporal <= .zero {
            throw TrackingError(.invalidConfiguration, "the time to arrival must be above 0 s, not \(temporal)")
        }
        self.spatial = spatial
        self.temporal = temporal
    }
}

/// What a trackable's resolution depends on beside requests.
public struct ResolutionConstraints: Hashable, Sendable {
    /// Its own resolutions.
    public let resolutions: ResolutionSet
    /// When it is near.
    public let proximityThreshold: ProximityThreshold?
    /// The charge in percent below which the interval is stretched, 0…100.
    public let batteryLevelThreshold: Double
    /// What the interval is multiplied with then, ≥ 1.
    public let lowBatteryMultiplier: Double
    /// The finest that subscribers may ask for; in place of the publisher's.
    public let floor: Resolution?

    /// Makes constraints.
    ///
    /// - Throws: `invalidConfiguration` that says which value is out of range.
    public init(
        resolutions: ResolutionSet, proximityThreshold: ProximityThreshold? = nil, batteryLevelThreshold: Double = 0,
        lowBatteryMultiplier: Double = 1, floor: Resolution? = nil
    ) throws(TrackingError) {
        guard (0...100).contains(batteryLevelThreshold) else {
            throw TrackingError(
                .invalidConfiguration, "the battery threshold must be 0 to 100 percent, not \(batteryLevelThreshold)")
        }
        guard lowBatteryMultiplier >= 1, lowBatteryMultiplier.isFinite else {
            throw TrackingError(
                .invalidConfiguration, "the low battery multiplier must be 1 or more, not \(lowBatteryMultiplier)")
        }
        self.resolutions = resolutions
        self.proximityThreshold = proximityThreshold
        self.batteryLevelThreshold = batteryLevelThreshold
        self.lowBatteryMultiplier = lowBatteryMultiplier
        self.floor = floor
    }
}
