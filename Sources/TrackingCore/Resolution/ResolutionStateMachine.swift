/// The one funnel through which the resolution of one trackable changes: every cause enters here, and it speaks only when
/// the answer differs.
public struct ResolutionStateMachine: Sendable {
    private let policy: any ResolutionPolicy
    private var present: Set<SubscriberID> = []

    /// The snapshot that the last answer was given for.
    public private(set) var conditions: TrackingConditions
    /// The resolution that the conditions call for; ``ResolutionDamper`` decides when it comes into force.
    public private(set) var current: Resolution
    /// The resolution that the same conditions call for without any request: the device's own.
    public private(set) var own: Resolution

    /// Makes a funnel for a trackable that nobody watches yet; ``current`` holds the first answer.
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

    /// Whether the battery is known and below the constraints' threshold.
    public var isLowBattery: Bool { self.conditions.isLowBattery }

    /// Who is present.
    public var subscribers: Set<SubscriberID> { self.present }

    /// Notes what changed and decides again; returns the new resolution, or `nil` when it is the one in force.
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
