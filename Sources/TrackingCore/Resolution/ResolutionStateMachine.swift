/// Decides the resolution of one trackable. Every change of its conditions enters through ``changed(_:)``, which
/// returns a resolution only when the decision differs.
public struct ResolutionStateMachine: Sendable {
    private let policy: any ResolutionPolicy
    private var present: Set<SubscriberID> = []

    /// The conditions of the last decision.
    public private(set) var conditions: TrackingConditions
    /// The latest decision. ``ResolutionDamper`` decides when it takes effect.
    public private(set) var current: Resolution
    /// The resolution for the same conditions without any request: the device's own.
    public private(set) var own: Resolution

    /// Makes a machine for a trackable without subscribers. ``current`` holds the first decision.
    public init(
        policy: any ResolutionPolicy = DefaultResolutionPolicy(), constraints: ResolutionConstraints? = nil,
        floor: Resolution? = nil, ceiling: Resolution? = nil, default: Resolution = .standard
    ) {
        self.policy = policy
        self.conditions = TrackingConditions(
            constraints: constraints, floor: floor, ceiling: ceiling, default: `default`)
        self.current = policy.resolution(for: self.conditions)
        self.own = self.current
    }

    /// `true` while the charge of the battery is known and below the constraints' threshold.
    public var isLowBattery: Bool { self.conditions.isLowBattery }

    /// The subscribers that are present on the trackable.
    public var subscribers: Set<SubscriberID> { self.present }

    /// Applies a change and decides again. Returns the new decision; `nil` when it equals the previous one.
    public mutating func changed(_ change: ConditionChange) -> Resolution? {
        self.note(change)
        if !change.isRequest { self.own = self.policy.resolution(for: self.conditions.withoutRequests) }
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
        }
    }
}
