/// A condition on trackables, such as entering a fence. An event is produced each time the condition begins to be met.
public struct Rule: Hashable, Sendable {
    /// The condition of a rule; for example, that a trackable enters a fence.
    public enum Condition: Hashable, Sendable {
        /// The condition that the trackable entered a fence.
        case enter(Fence)
        /// The condition that the trackable left a fence.
        case leave(Fence)
        /// The condition that the trackable stayed in a fence for the given time, 1 s to 30 days.
        case dwell(Fence, Duration)
        /// The condition that the trackable came near its destination, as its publisher reports.
        case arrived
        /// The condition that no position of the trackable was received for the given time, 1 s to 30 days.
        case silent(Duration)
        /// The condition that the trackable exceeded the given speed in metres a second: above 0, at most 1,000.
        case speed(above: Double)
        /// The condition that the charge of the device's battery fell below the given percentage, 1 to 100.
        case lowBattery(below: Double)
    }

    /// The range of the time that a rule may give for a stay in a fence (`dwell`) or for receiving no position
    /// (`silent`): 1 s to 30 days.
    public static let times: ClosedRange<Duration> = .seconds(1)...(.seconds(30 * 86_400))

    /// The name of the rule: 1 to 64 bytes of UTF-8.
    public let name: String
    /// The condition of the rule. An event is produced each time the condition begins to be met.
    public let condition: Condition
    /// The trackables to which the rule applies; `nil` for all.
    public let trackables: Set<TrackableID>?

    /// Creates a rule from its name, its condition and the trackables to which it applies.
    ///
    /// - Throws: `invalidConfiguration` for a name that is not 1 to 64 bytes long, or for a time, speed or percentage
    ///   out of range.
    public init(name: String, _ condition: Condition, of trackables: Set<TrackableID>? = nil) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration, "cannot use a rule name of \(name.utf8.count) bytes: a name has 1 to 64 bytes")
        }
        if let problem = condition.problem {
            throw TrackingError(.invalidConfiguration, "cannot use rule '\(name)': \(problem)")
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

    /// The fields that describe the condition in the detail of its events. An event about a fence, for example,
    /// contains the name of the fence.
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
    /// The event of a rule that the trackable entered a fence.
    public static let fenceEntered = Self(rawValue: "FENCE_ENTERED")
    /// The event of a rule that the trackable left a fence.
    public static let fenceLeft = Self(rawValue: "FENCE_LEFT")
    /// The event of a rule that the trackable stayed in a fence for the time that the rule requires.
    public static let fenceDwelled = Self(rawValue: "FENCE_DWELLED")
    /// The event of a rule that the trackable came near its destination, or of an enhancer that it arrived at a stop of
    /// its journey. The second event has the member `stop` in its detail.
    public static let arrived = Self(rawValue: "ARRIVED")
    /// The event of a rule that no position of the trackable was received for the time that the rule gives.
    public static let silent = Self(rawValue: "SILENT")
    /// The event of a rule that the trackable exceeded the speed limit of the rule.
    public static let speeding = Self(rawValue: "SPEEDING")
}
