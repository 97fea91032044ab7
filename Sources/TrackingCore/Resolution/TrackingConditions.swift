/// Everything that a ``ResolutionPolicy`` may look at, for one trackable. What is not in here cannot change its answer.
public struct TrackingConditions: Equatable, Sendable {
    /// What the trackable itself wants; `nil` leaves the decision to the requests and ``default``.
    public var constraints: ResolutionConstraints?
    /// The publisher's floor under requests; ``ResolutionConstraints/floor`` overrides it. `nil`: none.
    public var floor: Resolution?
    /// The publisher's ceiling on requests; ``ResolutionConstraints/ceiling`` overrides it. `nil`: none.
    public var ceiling: Resolution?
    /// What the present subscribers ask for.
    public var requests: RequestBook
    /// How many subscribers are present, asking or not; ≥ 0.
    public var subscribers: Int
    /// Whether the trackable is near its destination.
    public var isNear: Bool
    /// The charge of the device's battery, 0…100; `nil` when unknown.
    public var batteryPercent: Double?
    /// The publisher's resolution where nothing else is said.
    public var `default`: Resolution

    /// Makes a snapshot.
    public init(
        constraints: ResolutionConstraints? = nil, floor: Resolution? = nil, ceiling: Resolution? = nil,
        requests: RequestBook = RequestBook(), subscribers: Int = 0, isNear: Bool = false,
        batteryPercent: Double? = nil, default: Resolution = .standard
    ) {
        self.constraints = constraints
        self.floor = floor
        self.ceiling = ceiling
        self.requests = requests
        self.subscribers = subscribers
        self.isNear = isNear
        self.batteryPercent = batteryPercent
        self.default = `default`
    }

    /// Whether anybody is present, asking or not.
    public var isWatched: Bool { self.subscribers > 0 }

    /// The floor in force: the constraints' own, or the publisher's.
    public var effectiveFloor: Resolution? { self.constraints?.floor ?? self.floor }

    /// The ceiling in force: the constraints' own, or the publisher's.
    public var effectiveCeiling: Resolution? { self.constraints?.ceiling ?? self.ceiling }

    /// A request within the limits in force: member by member no coarser than the ceiling and no finer than the floor. Where
    /// the two contradict each other, the floor counts.
    public func limited(_ request: Resolution) -> Resolution {
        let limited = self.effectiveCeiling.map(request.finer(of:)) ?? request
        return self.effectiveFloor.map(limited.coarser(of:)) ?? limited
    }

    /// The same conditions without any request.
    var withoutRequests: TrackingConditions {
        var conditions = self
        conditions.requests = RequestBook()
        return conditions
    }

    /// Whether the battery is known and strictly below the constraints' threshold; never without constraints.
    public var isLowBattery: Bool {
        guard let constraints = self.constraints, let percent = self.batteryPercent else { return false }
        return percent < constraints.batteryLevelThreshold
    }
}
