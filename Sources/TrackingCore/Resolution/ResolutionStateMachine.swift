/// Decides the resolution of one trackable again after each change of its conditions. The caller passes every change to
/// ``changed(_:)-(ConditionChange)``. That method returns a resolution only when it differs from the previous one.
public struct ResolutionStateMachine: Sendable {
    private var policy: any ResolutionPolicy
    private var present: Set<SubscriberID> = []

    /// The present conditions of the trackable (battery, nearness, requests, subscribers and settings), from which
    /// ``current`` was decided.
    public private(set) var conditions: TrackingConditions
    /// The latest decided resolution. It does not take effect at once: ``ResolutionDamper`` determines the time.
    public private(set) var current: Resolution
    /// The resolution that would be decided now if no subscriber requested a resolution, with all other conditions
    /// unchanged.
    public private(set) var own: Resolution
    /// The resolution that the policy wants from the receiver for this trackable; `nil` if it is ``current``.
    public private(set) var sensor: Resolution?
    /// The longest time between two published positions that the policy decided, ≥ 0 s; `nil` if it leaves this time
    /// to the trackable's settings.
    public private(set) var maximumSilence: Duration?

    /// Makes a machine that decides the resolution of a trackable by this policy and these settings. The trackable has
    /// no subscribers yet, and ``current`` is the first decision.
    public init(
        policy: any ResolutionPolicy = DefaultResolutionPolicy(), constraints: ResolutionConstraints? = nil,
        floor: Resolution? = nil, ceiling: Resolution? = nil, default: Resolution = .standard
    ) {
        self.init(
            policy: policy,
            conditions: TrackingConditions(
                constraints: constraints, floor: floor, ceiling: ceiling, default: `default`))
    }

    /// Makes a machine that decides the resolution of a trackable by this policy, under these first conditions.
    ///
    /// - Parameters:
    ///   - policy: The policy that decides.
    ///   - conditions: The conditions without subscribers and requests.
    public init(policy: any ResolutionPolicy, conditions: TrackingConditions) {
        self.policy = policy
        self.conditions = conditions
        self.current = policy.resolution(for: conditions)
        self.own = self.current
        self.sensor = policy.sensorResolution(for: conditions)
        self.maximumSilence = policy.maximumSilence(for: conditions)
    }

    /// `true` while the charge of the battery is known and below the threshold in the trackable's constraints.
    public var isLowBattery: Bool { self.conditions.isLowBattery }

    /// The subscribers that are present on the trackable.
    public var subscribers: Set<SubscriberID> { self.present }

    /// Applies a change of the conditions, and decides the resolution again.
    ///
    /// - Returns: The new resolution; `nil` when it equals the previous one.
    public mutating func changed(_ change: ConditionChange) -> Resolution? { self.changed([change]) }

    /// Applies changes of the conditions as one change, and decides the resolution again.
    ///
    /// - Returns: The new resolution; `nil` when it equals the previous one.
    public mutating func changed(_ changes: [ConditionChange]) -> Resolution? {
        for change in changes { self.note(change) }
        if !changes.allSatisfy(\.isRequest) { self.own = self.policy.resolution(for: self.conditions.withoutRequests) }
        return self.decide()
    }

    /// Replaces the policy, and decides the resolution again.
    ///
    /// - Returns: The new resolution; `nil` when it equals the previous one.
    public mutating func use(_ policy: any ResolutionPolicy) -> Resolution? {
        self.policy = policy
        self.own = policy.resolution(for: self.conditions.withoutRequests)
        return self.decide()
    }

    private mutating func decide() -> Resolution? {
        self.sensor = self.policy.sensorResolution(for: self.conditions)
        self.maximumSilence = self.policy.maximumSilence(for: self.conditions)
        let next = self.policy.resolution(for: self.conditions)
        guard next != self.current else { return nil }
        self.current = next
        return next
    }

    private mutating func note(_ change: ConditionChange) {
        switch change {
        case .subscriberCame(let subscriber):
            self.present.insert(subscriber)
            self.conditions.subscribers = self.present.count
        case .subscriberLeft(let subscriber):
            self.present.remove(subscriber)
            self.conditions.requests.remove(subscriber)
            self.conditions.subscribers = self.present.count
        case .requestMade(let subscriber, let resolution):
            guard self.present.contains(subscriber) else { return }
            self.conditions.requests.set(subscriber, to: resolution)
        case .requestDropped(let subscriber): self.conditions.requests.remove(subscriber)
        case .batteryRead(let percent):
            self.conditions.batteryPercent = percent.flatMap { (0...100).contains($0) ? $0 : nil }
        case .nearChanged(let isNear): self.conditions.isNear = isNear
        case .constraintsChanged(let constraints): self.conditions.constraints = constraints
        case .floorChanged(let floor): self.conditions.floor = floor
        case .ceilingChanged(let ceiling): self.conditions.ceiling = ceiling
        case .defaultChanged(let resolution): self.conditions.default = resolution
        case .metadataChanged(let metadata): self.conditions.metadata = metadata
        case .destinationChanged(let destination): self.conditions.destination = destination
        case .situationChanged(let situation): self.conditions.situation = situation
        }
    }
}
