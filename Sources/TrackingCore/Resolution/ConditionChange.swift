/// A change of the conditions that determine one trackable's resolution.
public enum ConditionChange: Hashable, Sendable {
    /// A subscriber became present on the trackable. A repetition for a present subscriber has no effect.
    case subscriberCame(SubscriberID)
    /// A subscriber is no longer present on the trackable: it left, or its lease, the time for which a heartbeat
    /// counts, is over. The subscriber's resolution request is removed.
    case subscriberLeft(SubscriberID)
    /// A present subscriber requests a resolution for the trackable. The request of an absent subscriber is ignored and
    /// must be repeated once the subscriber is present.
    case requestMade(SubscriberID, Resolution)
    /// A subscriber withdrew its resolution request. It remains present on the trackable.
    case requestDropped(SubscriberID)
    /// The battery's charge was read, in percent, 0…100. `nil` and any other number mean that the charge is unknown.
    case batteryRead(percent: Double?)
    /// The trackable came near its destination (`true`) or moved away from it (`false`).
    case nearChanged(Bool)
    /// The trackable's constraints (its own resolutions and its battery rule) were replaced or, with `nil`, removed.
    case constraintsChanged(ResolutionConstraints?)
    /// The publisher's floor changed. The floor is the finest resolution that a subscriber's request can reach.
    case floorChanged(Resolution?)
    /// The publisher's ceiling changed. The ceiling is the coarsest resolution that a subscriber's request can reach.
    case ceilingChanged(Resolution?)
    /// The publisher's default resolution changed. It applies where neither the trackable's constraints nor a request
    /// gives a resolution.
    case defaultChanged(Resolution)
    /// The text that the program attached to the trackable was replaced or, with `nil`, removed.
    case metadataChanged(String?)
    /// The destination of the trackable was set, replaced or, with `nil`, removed.
    case destinationChanged(Coordinate?)
    /// The last position, the speed, the time or the connection changed.
    case situationChanged(TrackingSituation)

    /// `true` when a subscriber made or withdrew a resolution request; `false` for every other change.
    var isRequest: Bool {
        switch self {
        case .requestMade, .requestDropped: true
        case .subscriberCame, .subscriberLeft, .batteryRead, .nearChanged, .constraintsChanged, .floorChanged,
            .ceilingChanged, .defaultChanged, .metadataChanged, .destinationChanged, .situationChanged:
            false
        }
    }
}
