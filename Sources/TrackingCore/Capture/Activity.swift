/// What the device is used for: sets how long and within which radius it must stand to count as standing, and which motions
/// are told apart.
public enum Activity: String, Hashable, Sendable, CaseIterable {
    case automotive
    case fitness
    case otherNavigation = "other-navigation"
    case airborne
    case other

    /// The radius around a place within which one has not left it, in metres.
    public var pauseRadius: Meters {
        switch self {
        case .automotive: 50
        case .fitness: 25
        case .otherNavigation: 100
        case .airborne: 1000
        case .other: 50
        }
    }

    /// How long one must stay within the radius before recording pauses; longer than the stop at a light, a lock, a gate.
    public var pauseAfter: Duration {
        switch self {
        case .automotive: .seconds(300)
        case .fitness: .seconds(120)
        case .otherNavigation: .seconds(600)
        case .airborne: .seconds(1800)
        case .other: .seconds(180)
        }
    }

    /// The motions that a speed may be called, slowest first; what is faster than the last is called the last, and what moves
    /// while there is none has no name.
    public var movingMotions: [Motion] {
        switch self {
        case .automotive: [.driving]
        case .fitness: [.walking, .running, .cycling]
        case .otherNavigation, .airborne: []
        case .other: [.walking, .running, .cycling, .driving]
        }
    }
}
