package import TrackingCore

/// A rule as it is stored: its condition, with the names of its fence and its groups of trackables.
package struct RuleDefinition: Hashable, Sendable {
    /// The condition of a rule. `seconds` is a time in seconds, `above` a speed in m/s, and `below` a battery level in
    /// percent.
    package enum Condition: Hashable, Sendable {
        case enter(fence: String)
        case leave(fence: String)
        case dwell(fence: String, seconds: Double)
        case arrived
        case silent(seconds: Double)
        case speed(above: Double)
        case lowBattery(below: Double)

        /// The names of the JSON members that describe the condition, in addition to `when`.
        fileprivate var parameters: [String] {
            switch self {
            case .enter, .leave: ["fence"]
            case .dwell: ["fence", "seconds"]
            case .arrived: []
            case .silent: ["seconds"]
            case .speed, .lowBattery: ["limit"]
            }
        }
    }

    /// The name of the rule: 1 to 64 bytes.
    package var name: String
    /// The condition under which the rule produces an event.
    package var condition: Condition
    /// The trackables that the rule applies to. A rule without trackables and groups applies to all trackables.
    package var trackables: [TrackableID]
    /// The names of the groups whose trackables the rule applies to.
    package var groups: [String]

    /// Creates the definition of a rule. Without trackables and groups the rule applies to all trackables.
    package init(name: String, _ condition: Condition, trackables: [TrackableID] = [], groups: [String] = []) {
        self.name = name
        self.condition = condition
        self.trackables = trackables
        self.groups = groups
    }

    /// Returns the rule that this definition describes, with its fence and the members of its groups.
    ///
    /// - Parameters:
    ///   - fences: The existing fences, by name.
    ///   - groups: The trackables of each existing group, by the group's name.
    /// - Throws: `invalidConfiguration` when the fence does not exist, or the rule's name or a number is out of range.
    package func rule(
        fences: [String: Fence], groups: [String: Set<TrackableID>]
    ) throws(TrackingError) -> Rule {
        func fence(_ name: String) throws(TrackingError) -> Fence {
            if let fence = fences[name] { return fence }
            throw TrackingError(
                .invalidConfiguration,
                "cannot use rule '\(self.name)': there is no fence '\(name)'; add it with godwit fence add")
        }
        let condition: Rule.Condition =
            switch self.condition {
            case .enter(let name): .enter(try fence(name))
            case .leave(let name): .leave(try fence(name))
            case .dwell(let name, let seconds): .dwell(try fence(name), .seconds(seconds))
            case .arrived: .arrived
            case .silent(let seconds): .silent(.seconds(seconds))
            case .speed(let limit): .speed(above: limit)
            case .lowBattery(let limit): .lowBattery(below: limit)
            }
        return try Rule(name: self.name, condition, of: self.members(in: groups))
    }

    /// Returns the trackables to which the rule applies; `nil` for all trackables.
    ///
    /// - Parameter groups: The trackables of each existing group, by the group's name.
    package func members(in groups: [String: Set<TrackableID>]) -> Set<TrackableID>? {
        guard !self.trackables.isEmpty || !self.groups.isEmpty else { return nil }
        return self.groups.reduce(into: Set(self.trackables)) { $0.formUnion(groups[$1] ?? []) }
    }

    /// The name of the fence in the rule's condition; `nil` for a condition without a fence.
    package var fence: String? {
        switch self.condition {
        case .enter(let name), .leave(let name), .dwell(let name, _): name
        case .arrived, .silent, .speed, .lowBattery: nil
        }
    }
}

extension RuleDefinition {
    /// Creates the definition of a rule from JSON:
    /// `{"when":"enter","fence":"depot","trackables":["van-7"],"groups":["vans"]}`, with `seconds` for `dwell` and
    /// `silent`, and `limit` for `speed` (m/s) and `lowBattery` (percent). A member `name` is ignored.
    ///
    /// - Parameters:
    ///   - name: The name of the rule.
    ///   - json: The JSON object, as stored or as a client sent it.
    /// - Throws: `invalidConfiguration` that names the invalid or unknown member; `invalidName` for an invalid
    ///   trackable.
    package init(name: String, json: JSONValue) throws(TrackingError) {
        func text(_ member: String) throws(TrackingError) -> String {
            if let text = json[member]?.text { return text }
            throw TrackingError(
                .invalidConfiguration, "cannot use rule '\(name)': its member \"\(member)\" is missing or not a string")
        }
        func number(_ member: String) throws(TrackingError) -> Double {
            if let number = json[member]?.number { return number }
            throw TrackingError(
                .invalidConfiguration, "cannot use rule '\(name)': its member \"\(member)\" is missing or not a number")
        }
        func texts(_ member: String) throws(TrackingError) -> [String] {
            guard let value = json[member] else { return [] }
            if let list = value.list, case let texts = list.compactMap(\.text), texts.count == list.count {
                return texts
            }
            throw TrackingError(
                .invalidConfiguration, "cannot use rule '\(name)': its member \"\(member)\" must be a list of strings")
        }
        let condition: Condition
        switch try text("when") {
        case "enter": condition = .enter(fence: try text("fence"))
        case "leave": condition = .leave(fence: try text("fence"))
        case "dwell": condition = .dwell(fence: try text("fence"), seconds: try number("seconds"))
        case "arrived": condition = .arrived
        case "silent": condition = .silent(seconds: try number("seconds"))
        case "speed": condition = .speed(above: try number("limit"))
        case "lowBattery": condition = .lowBattery(below: try number("limit"))
        case let other:
            throw TrackingError(
                .invalidConfiguration,
                "cannot use rule '\(name)': its member \"when\" must be enter, leave, dwell, arrived, silent, speed or lowBattery, not \(other.prefix(40))"
            )
        }
        try json.checkMembers(
            ["name", "when"] + condition.parameters + ["trackables", "groups"], of: "rule '\(name)'")
        var trackables: [TrackableID] = []
        for id in try texts("trackables") { trackables.append(try TrackableID(id)) }
        self.init(name: name, condition, trackables: trackables, groups: try texts("groups"))
    }

    /// The definition as a JSON object that ``init(name:json:)`` reads.
    package var json: JSONValue {
        var members: [String: JSONValue] =
            switch self.condition {
            case .enter(let fence): ["when": .text("enter"), "fence": .text(fence)]
            case .leave(let fence): ["when": .text("leave"), "fence": .text(fence)]
            case .dwell(let fence, let seconds):
                ["when": .text("dwell"), "fence": .text(fence), "seconds": .number(seconds)]
            case .arrived: ["when": .text("arrived")]
            case .silent(let seconds): ["when": .text("silent"), "seconds": .number(seconds)]
            case .speed(let limit): ["when": .text("speed"), "limit": .number(limit)]
            case .lowBattery(let limit): ["when": .text("lowBattery"), "limit": .number(limit)]
            }
        if !self.trackables.isEmpty { members["trackables"] = .list(self.trackables.map { .text($0.rawValue) }) }
        if !self.groups.isEmpty { members["groups"] = .list(self.groups.map { .text($0) }) }
        return .object(members)
    }
}
