/// All conditions on which the decision about one trackable's resolution depends. They are the input of a
/// ``ResolutionPolicy``.
public struct TrackingConditions: Equatable, Sendable {
    /// The trackable's own constraints. Without them (`nil`), the resolution follows from the requests or ``default``.
    public var constraints: ResolutionConstraints?
    /// The publisher's floor, the finest resolution that a subscriber's request can reach. A request for a finer one
    /// counts as a request for the floor. `nil` for none. A floor in the trackable's constraints takes precedence.
    public var floor: Resolution?
    /// The publisher's ceiling, the coarsest resolution that a subscriber's request can reach. A request for a coarser
    /// one counts as a request for the ceiling. `nil` for none. A ceiling in the trackable's constraints takes
    /// precedence.
    public var ceiling: Resolution?
    /// The resolution requests of the subscribers that are present on the trackable.
    public var requests: RequestBook
    /// The number of subscribers that are present on the trackable, with or without a request; ≥ 0.
    public var subscribers: Int
    /// `true` while the trackable is near its destination.
    public var isNear: Bool
    /// The charge of the device's battery in percent, 0…100; `nil` when unknown.
    public var batteryPercent: Double?
    /// The publisher's default resolution. It applies where neither the trackable's constraints nor a request gives a
    /// resolution.
    public var `default`: Resolution
    /// The id of the trackable; `nil` in conditions that belong to no particular trackable.
    public var trackable: TrackableID?
    /// The text that the program attached to the trackable; `nil` for none.
    public var metadata: String?
    /// The destination of the trackable; `nil` for none.
    public var destination: Coordinate?
    /// The last position and the speed of the trackable, the time, and the state of the connection to the broker. A
    /// policy of your own can use them; ``DefaultResolutionPolicy`` does not.
    public var situation = TrackingSituation()

    /// Makes the conditions on which the decision about a trackable's resolution depends. By default, there are no
    /// constraints, limits and subscribers, and the battery's charge is unknown.
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

    /// The great-circle distance from the last position to ``destination``; `nil` without a destination or a position.
    public var distance: Meters? {
        guard let destination, let location = self.situation.location else { return nil }
        return location.coordinate.distance(to: destination)
    }

    /// `true` while at least one subscriber is present, with or without a request.
    public var isWatched: Bool { self.subscribers > 0 }

    /// The finest resolution that subscribers' requests can reach: the floor in the trackable's constraints or, without
    /// one, the publisher's floor. `nil` for no floor.
    public var effectiveFloor: Resolution? { self.constraints?.floor ?? self.floor }

    /// The coarsest resolution that subscribers' requests can reach, to which coarser requests are limited: the ceiling
    /// in the trackable's constraints or, without one, the publisher's ceiling. `nil` for no ceiling.
    public var effectiveCeiling: Resolution? { self.constraints?.ceiling ?? self.ceiling }

    /// Returns a request limited to the range between ``effectiveCeiling`` and ``effectiveFloor``. Accuracy, interval
    /// and displacement are limited separately. If floor and ceiling contradict each other, the floor counts.
    public func limited(_ request: Resolution) -> Resolution {
        let limited = self.effectiveCeiling.map(request.finer(of:)) ?? request
        return self.effectiveFloor.map(limited.coarser(of:)) ?? limited
    }

    /// A copy of the trackable's conditions without the resolution requests of its subscribers.
    var withoutRequests: TrackingConditions {
        var conditions = self
        conditions.requests = RequestBook()
        return conditions
    }

    /// `true` when the battery's charge is known and below the threshold of the trackable's constraints. Always `false`
    /// without constraints.
    public var isLowBattery: Bool {
        guard let constraints = self.constraints, let percent = self.batteryPercent else { return false }
        return percent < constraints.batteryLevelThreshold
    }
}
