/// The snapshot that a resolution is decided from: whatever is not in it cannot change the answer.
public struct TrackingConditions: Sendable {
    /// The trackable's constraints, where it has any.
    public var constraints: ResolutionConstraints?
    /// The finest that subscribers may ask of this publisher; the constraints' own floor counts in its place.
    public var floor: Resolution?
    /// The requests of the subscribers that are present.
    public var requests = RequestBook()
    /// How many subscribers are present, whether they asked for a resolution or not.
    public var subscribers = 0
    /// Whether the trackable is near its destination.
    public var isNear = false
    /// The battery's charge in percent; `nil` is unknown.
    public var batteryPercent: Double?
    /// What counts where nothing else does.
    public var `default`: Resolution

    /// Makes a snapshot without subscribers, far from any destination.
    public init(
        constraints: ResolutionConstraints? = nil, floor: Resolution? = nil, batteryPercent: Double? = nil,
        default: Resolution
    ) {
        self.constraints = constraints
        self.floor = floor
        self.batteryPercent = batteryPercent
        self.default = `default`
    }

    /// Whether the battery is known and below the threshold; 10 % is not below a threshold of 10.
    public var isLowBattery: Bool {
        guard let constraints = self.constraints, let percent = self.batteryPercent else { return false }
        return percent < constraints.batteryLevelThreshold
    }
}

/// Decides a trackable's resolution from a snapshot, and from nothing else.
public protocol ResolutionPolicy: Sendable {
    /// The resolution for these conditions.
    func resolution(for conditions: TrackingConditions) -> Resolution
}

/// The rules of docs/resolution.md.
public struct DefaultResolutionPolicy: ResolutionPolicy {
    /// Makes the policy.
    public init() {}

    /// The finest of the trackable's own resolution and of what is asked, stretched when the battery is low.
    public func resolution(for conditions: TrackingConditions) -> Resolution {
        // The finest of clamped requests is the clamped finest, because clamping keeps the order of each member.
        let finest = conditions.requests.finest
        guard let constraints = conditions.constraints else {
            return finest.map { Self.clamp($0, conditions.floor) } ?? conditions.default
        }
        let asked = finest.map { Self.clamp($0, constraints.floor ?? conditions.floor) }
        let own =
            constraints.resolutions.member(isNear: conditions.isNear, isWatched: conditions.subscribers > 0)
            ?? conditions.default
        let answer = asked.map { own.finer(of: $0) } ?? own
        return conditions.isLowBattery ? Self.stretch(answer, by: constraints.lowBatteryMultiplier) : answer
    }

    private static func clamp(_ request: Resolution, _ floor: Resolution?) -> Resolution {
        floor.map { request.coarser(of: $0) } ?? request
    }

    private static func stretch(_ resolution: Resolution, by multiplier: Double) -> Resolution {
        let milliseconds = Double(resolution.desiredInterval.inMilliseconds) * multiplier
        let most = Double(Resolution.maximumInterval.inMilliseconds)
        return Resolution(
            unchecked: resolution.accuracy, milliseconds: Int64(min(milliseconds, most)),
            displacement: resolution.minimumDisplacement)
    }
}

/// What the receiver is asked for.
public enum SensorResolution {
    /// The constant one where it is configured, else the finest over all trackables, else the default.
    public static func finest(
        of resolutions: some Sequence<Resolution>, default: Resolution, constant: Resolution?
    ) -> Resolution {
        if let constant { return constant }
        var iterator = resolutions.makeIterator()
        guard var finest = iterator.next() else { return `default` }
        while let next = iterator.next() { finest = finest.finer(of: next) }
        return finest
    }
}
