/// What operators want to be told of.
public struct Rule: Hashable, Sendable {
    /// What it watches for.
    public enum Condition: Hashable, Sendable {
        /// It came into a fence.
        case enter(Fence)
        /// It left a fence.
        case leave(Fence)
        /// It was in a fence for so long.
        case dwell(Fence, Duration)
        /// It came near its destination, as its publisher says.
        case arrived
        /// Nothing was heard of where it is for so long.
        case silent(Duration)
        /// It went faster than so many metres a second.
        case speed(above: Double)
        /// Its battery sank below so many percent.
        case lowBattery(below: Double)
    }

    /// The least and the longest time of `dwell` and `silent`.
    public static let times: ClosedRange<Duration> = .seconds(1)...(.seconds(30 * 86_400))

    /// Its name: 1 to 64 bytes.
    public let name: String
    /// What it watches for.
    public let condition: Condition
    /// Which trackables it is for; `nil` for all.
    public let trackables: Set<TrackableID>?

    /// Makes a rule.
    ///
    /// - Throws: `invalidConfiguration` that says which range was left: times of ``times``, speeds above 0 to 1,000 m/s,
    ///   percentages of 1 to 100.
    public init(name: String, _ condition: Condition, of trackables: Set<TrackableID>? = nil) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration, "a rule's name has 1 to 64 bytes; this one has \(name.utf8.count)")
        }
        if let problem = condition.problem {
            throw TrackingError(.invalidConfiguration, "rule '\(name)': \(problem)")
        }
        self.name = name
        self.condition = condition
        self.trackables = trackables
    }

    /// Whether it is for a trackable.
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

    /// The kind of its events.
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

    /// What its events say about it.
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
    /// It came into a fence.
    public static let fenceEntered = Self(rawValue: "FENCE_ENTERED")
    /// It left a fence.
    public static let fenceLeft = Self(rawValue: "FENCE_LEFT")
    /// It was in a fence for as long as a rule says.
    public static let fenceDwelled = Self(rawValue: "FENCE_DWELLED")
    /// It came near its destination.
    public static let arrived = Self(rawValue: "ARRIVED")
    /// Nothing was heard of it for as long as a rule says.
    public static let silent = Self(rawValue: "SILENT")
    /// It went faster than a rule allows.
    public static let speeding = Self(rawValue: "SPEEDING")
}
