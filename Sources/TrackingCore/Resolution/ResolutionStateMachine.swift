/// Something a resolution may depend on changed.
public enum ConditionChange: Hashable, Sendable {
    case subscriberArrived(SubscriberID)
    case subscriberLeft(SubscriberID)
    case requested(SubscriberID, Resolution)
    case requestDropped(SubscriberID)
    case batteryRead(Double?)
    case nearChanged(Bool)
    case constraintsChanged(ResolutionConstraints?)
}

/// The one funnel for one trackable: every change enters here, and it answers only when the resolution differs.
public struct ResolutionStateMachine: Sendable {
    /// The snapshot.
    public private(set) var conditions: TrackingConditions
    /// The resolution in force.
    public private(set) var current: Resolution
    private let policy: any ResolutionPolicy
    private var present: Set<SubscriberID> = []

    /// Starts with a snapshot, without subscribers.
    public init(conditions: TrackingConditions, policy: any ResolutionPolicy) {
        self.conditions = conditions
        self.policy = policy
        self.current = policy.resolution(for: conditions)
    }

    /// Whether the battery is known and below the threshold.
    public var isLowBattery: Bool { self.conditions.isLowBattery }

    /// Whether this subscriber is present.
    public func isPresent(_ subscriber: SubscriberID) -> Bool { self.present.contains(subscriber) }

    /// Something changed.
    ///
    /// - Returns: The new resolution; `nil` when it is the same as before.
    public mutating func changed(_ change: ConditionChange) -> Resolution? {
        switch change {
        case .subscriberArrived(let subscriber):
            self.present.insert(subscriber)
        case .subscriberLeft(let subscriber):
            self.present.remove(subscriber)
            _ = self.conditions.requests.remove(subscriber)
        case .requested(let subscriber, let resolution):
            guard self.present.contains(subscriber) else { return nil }
            self.conditions.requests.set(subscriber, to: resolution)
        case .requestDropped(let subscriber): _ = self.conditions.requests.remove(subscriber)
        case .batteryRead(let percent): self.conditions.batteryPercent = percent
        case .nearChanged(let isNear): self.conditions.isNear = isNear
        case .constraintsChanged(let constraints): self.conditions.constraints = constraints
        }
        self.conditions.subscribers = self.present.count
        let next = self.policy.resolution(for: self.conditions)
        guard next != self.current else { return nil }
        self.current = next
        return next
    }
}
