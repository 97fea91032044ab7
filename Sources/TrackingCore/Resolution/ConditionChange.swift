/// A change of the conditions that determine one trackable's resolution.
public enum ConditionChange: Hashable, Sendable {
    /// A subscriber became present on the trackable. A repetition for a present subscriber has no effect.
    case subscriberCame(SubscriberID)
    /// A subscriber is no longer present: it left, or its lease or grace period ended. Its request is removed.
    case subscriberLeft(SubscriberID)
    /// A present subscriber requests a resolution. The request of an absent subscriber is ignored; it has to be
    /// repeated after the subscriber becomes present.
    case requestMade(SubscriberID, Resolution)
    /// A subscriber withdrew its request; it stays present.
    case requestDropped(SubscriberID)
    /// The battery's charge was read, in percent, 0…100. `nil` and any other number mean that the charge is unknown.
    case batteryRead(percent: Double?)
    /// The trackable came near its destination (`true`) or left its vicinity (`false`).
    case nearChanged(Bool)
    /// The trackable's constraints were replaced or, with `nil`, removed.
    case constraintsChanged(ResolutionConstraints?)
    /// The publisher's floor changed: the finest resolution that a request can reach.
    case floorChanged(Resolution?)
    /// The publisher's ceiling changed: the coarsest resolution that a request can reach.
    case ceilingChanged(Resolution?)
    /// The publisher's default resolution changed.
    case defaultChanged(Resolution)

    /// `true` for a change that concerns only the requests of subscribers.
    var isRequest: Bool {
        switch self {
        case .requestMade, .requestDropped: true
        case .subscriberCame, .subscriberLeft, .batteryRead, .nearChanged, .constraintsChanged, .floorChanged,
            .ceilingChanged, .defaultChanged:
            false
        }
    }
}
