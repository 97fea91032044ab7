/// What can change the resolution of one trackable.
public enum ConditionChange: Hashable, Sendable {
    /// A subscriber is present now. One that already was stays counted once.
    case subscriberCame(SubscriberID)
    /// A subscriber is not present any more: it left, or its lease or grace ran out. Its request goes with it.
    case subscriberLeft(SubscriberID)
    /// A present subscriber asks for a resolution. From one that is not present it is ignored: ask again when it came.
    case requestMade(SubscriberID, Resolution)
    /// A subscriber asks for nothing any more; it stays present.
    case requestDropped(SubscriberID)
    /// The battery was read: 0…100 percent; anything else, and `nil`, is unknown.
    case batteryRead(percent: Double?)
    /// The trackable came near its destination, or left it.
    case nearChanged(Bool)
    /// The trackable got other constraints, or none.
    case constraintsChanged(ResolutionConstraints?)
    /// The publisher's floor under requests changed.
    case floorChanged(Resolution?)
    /// The publisher's ceiling on requests changed.
    case ceilingChanged(Resolution?)
    /// The publisher's default changed.
    case defaultChanged(Resolution)

    /// `true` where nothing but a request changed.
    var isRequest: Bool {
        switch self {
        case .requestMade, .requestDropped: true
        case .subscriberCame, .subscriberLeft, .batteryRead, .nearChanged, .constraintsChanged, .floorChanged,
            .ceilingChanged, .defaultChanged:
            false
        }
    }
}
