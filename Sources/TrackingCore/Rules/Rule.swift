/// A condition on trackables that produces an event each time it is met.
public struct Rule: Hashable, Sendable {
    /// The condition of a rule.
    public enum Condition: Hashable, Sendable {
        /// The trackable entered a fence.
        case enter(Fence)
        /// The trackable left a fence.
        case leave(Fence)
        /// The trackable stayed in a fence for a time within ``Rule/times``.
        case dwell(Fence, Duration)
        /// The trackable came near its destination, according to its publisher.
        case arrived
        /// No position of the trackable was received for a time within ``Rule/times``.
        case silent(Duration)
        /// The trackable exceeded a speed, in metres per second: above 0, at most 1,000.
        case speed(above: Double)
        /// The battery's charge fell below a percentage of 1 to 100.
        case lowBattery(below: Double)
    }

    /// The range of the times of `dwell` and `silent`: 1 s to 30 days.
    public static let times: ClosedRange<Duration> = .seconds(1)...(.seconds(30 * 86_400))

    /// The name of the rule: 1 to 64 bytes of UTF-8.
    public let name: String
    /// The condition.
    public let condition: Condition
    /// The trackables to which the rule applies; `nil` for all.
    public let trackables: Set<TrackableID>?

    /// Creates a rule.
    ///
    /// - Throws: `invalidConfiguration` for a name or a value out of range.
    public init(name: String, _ condition: Condition, of trackables: Set<TrackableID>? = nil) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration, "cannot use a rule name of \(name.utf8.count) bytes: a name has 1 to 64 bytes")
        }
        if let problem = condition.problem {
            throw TrackingError(.invalidConfiguration, "rule '\(name)': \(problem)")
        }
        self.name = name
        self.condition = condition
        self.trackables = trackables
    }

    /// Returns `true` when the rule applies to a trackable.
    public func isFor(_ id: TrackableID) -> Bool { self.trackables?.contains(id) ?? true }
}

extension Rule.Condition {
    fileprivate var problem: String? {
        switch self {
        case .enter, .leave, .arrived: nil
        case .dwell(_, let time), .silent(let time):
            Rule.times.contains(time) ? nil : "the time must be 1 s to 30 days, not \(time.inSeconds) s"
        case .speed(let limit):
            limit > 0 && limit <= 1000 ? nil : "the speed must be above 0 and at most 1000 m/s, not \(limit)"
        case .lowBattery(let percent):
            (1...100).contains(percent) ? nil : "the charge must be 1 to 100 percent, not \(percent)"
        }
    }

    /// The kind of the events that the condition produces.
    var kind: TrackingEvent.Kind {
        switch self {
        case .enter: .fenceEntered
        case .leave: .fenceLeft
        case .dwell: .fenceDwelled
        case .arrived: .arrived
        case .silent: .silent
        case .speed: .speeding
        case .lowBattery: .lowBattery
        }
    }

    /// The members that the condition adds to the detail of its events, for example the name of the fence.
    var detail: [String: JSONValue] {
        switch self {
        case .enter(let fence), .leave(let fence): ["fence": .text(fence.name)]
        case .dwell(let fence, let time): ["fence": .text(fence.name), "seconds": .number(time.inSeconds)]
        case .arrived: [:]
        case .silent(let time): ["seconds": .number(time.inSeconds)]
        case .speed(let limit): ["limit": .number(limit)]
        case .lowBattery(let percent): ["limit": .number(percent)]
        }
    }
}

extension TrackingEvent.Kind {
    /// The trackable entered a fence.
    public static let fenceEntered = Self(rawValue: "FENCE_ENTERED")
    /// The trackable left a fence.
    public static let fenceLeft = Self(rawValue: "FENCE_LEFT")
    /// The trackable stayed in a fence for the time of a rule.
    public static let fenceDwelled = Self(rawValue: "FENCE_DWELLED")
    /// The trackable came near its destination.
    public static let arrived = Self(rawValue: "ARRIVED")
    /// No position of the trackable was received for the time of a rule.
    public static let silent = Self(rawValue: "SILENT")
    /// The trackable exceeded the speed of a rule.
    public static let speeding = Self(rawValue: "SPEEDING")
}
