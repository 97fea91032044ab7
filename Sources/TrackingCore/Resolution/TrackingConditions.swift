/// The complete input of a ``ResolutionPolicy`` for one trackable.
public struct TrackingConditions: Equatable, Sendable {
    /// The trackable's own constraints; `nil` leaves the decision to the requests and ``default``.
    public var constraints: ResolutionConstraints?
    /// The publisher's floor, the finest resolution that a request can reach; `nil` for none.
    /// ``ResolutionConstraints/floor`` overrides it.
    public var floor: Resolution?
    /// The publisher's ceiling, the coarsest resolution that a request can reach; `nil` for none.
    /// ``ResolutionConstraints/ceiling`` overrides it.
    public var ceiling: Resolution?
    /// The requests of the present subscribers.
    public var requests: RequestBook
    /// The number of present subscribers, with or without a request; ≥ 0.
    public var subscribers: Int
    /// `true` while the trackable is near its destination.
    public var isNear: Bool
    /// The charge of the device's battery in percent, 0…100; `nil` when unknown.
    public var batteryPercent: Double?
    /// The publisher's default resolution, used without constraints and requests.
    public var `default`: Resolution

    /// Makes a snapshot of the conditions of one trackable.
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

    /// `true` while at least one subscriber is present, with or without a request.
    public var isWatched: Bool { self.subscribers > 0 }

    /// The floor in force: the constraints' floor, or else the publisher's.
    public var effectiveFloor: Resolution? { self.constraints?.floor ?? self.floor }

    /// The ceiling in force: the constraints' ceiling, or else the publisher's.
    public var effectiveCeiling: Resolution? { self.constraints?.ceiling ?? self.ceiling }

    /// Returns a request limited by ``effectiveCeiling`` and ``effectiveFloor``, member by member. Where the two limits
    /// contradict each other, the floor wins.
    public func limited(_ request: Resolution) -> Resolution {
        let limited = self.effectiveCeiling.map(request.finer(of:)) ?? request
        return self.effectiveFloor.map(limited.coarser(of:)) ?? limited
    }

    /// A copy of the conditions without requests.
    var withoutRequests: TrackingConditions {
        var conditions = self
        conditions.requests = RequestBook()
        return conditions
    }

    /// `true` when the charge is known and strictly below the constraints' threshold; always `false` without
    /// constraints.
    public var isLowBattery: Bool {
        guard let constraints = self.constraints, let percent = self.batteryPercent else { return false }
        return percent < constraints.batteryLevelThreshold
    }
}
