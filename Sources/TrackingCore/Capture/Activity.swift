/// The use of the device, such as driving or fitness. It determines the radius and the time after which a trackable
/// counts as stationary, and the kinds of motion that are distinguished.
public enum Activity: String, Hashable, Sendable, CaseIterable {
    case automotive
    case fitness
    case otherNavigation = "other-navigation"
    case airborne
    case other

    /// The radius in metres within which a trackable must remain to count as stationary.
    public var pauseRadius: Meters {
        switch self {
        case .automotive: 50
        case .fitness: 25
        case .otherNavigation: 100
        case .airborne: 1000
        case .other: 50
        }
    }

    /// The time for which a trackable must remain within ``pauseRadius`` before recording pauses. It is longer than a
    /// usual stop, for example at a traffic light.
    public var pauseAfter: Duration {
        switch self {
        case .automotive: .seconds(300)
        case .fitness: .seconds(120)
        case .otherNavigation: .seconds(600)
        case .airborne: .seconds(1800)
        case .other: .seconds(180)
        }
    }

    /// The kinds of motion that are distinguished by speed, slowest first. Speeds above all their ranges count as the
    /// last kind. When the list is empty, a moving trackable has no kind of motion.
    public var movingMotions: [Motion] {
        switch self {
        case .automotive: [.driving]
        case .fitness: [.walking, .running, .cycling]
        case .otherNavigation, .airborne: []
        case .other: [.walking, .running, .cycling, .driving]
        }
    }
}
