package import TrackingCore

/// A rule as it is stored: it names its fence and groups.
package struct RuleDefinition: Hashable, Sendable {
    /// The condition of a rule.
    package enum Condition: Hashable, Sendable {
        case enter(fence: String)
        case leave(fence: String)
        case dwell(fence: String, seconds: Double)
        case arrived
        case silent(seconds: Double)
        case speed(above: Double)
        case lowBattery(below: Double)
    }

    /// The name: 1 to 64 bytes.
    package var name: String
    /// The condition.
    package var condition: Condition
    /// The trackables of the rule. Without trackables and groups the rule applies to all.
    package var trackables: [TrackableID]
    /// The groups whose trackables the rule applies to.
    package var groups: [String]

    /// Makes a definition.
    package init(name: String, _ condition: Condition, trackables: [TrackableID] = [], groups: [String] = []) {
        self.name = name
        self.condition = condition
        self.trackables = trackables
        self.groups = groups
    }

    /// Returns the rule, with its fence and the members of its groups.
    ///
    /// - Throws: `invalidConfiguration` when a fence is not there, or a number out of range.
    package func rule(
        fences: [String: Fence], groups: [String: Set<TrackableID>]
    ) throws(TrackingError) -> Rule {
        func fence(_ name: String) throws(TrackingError) -> Fence {
            if let fence = fences[name] { return fence }
            throw TrackingError(
                .invalidConfiguration, "rule '\(self.name)': there is no fence '\(name)'; add it with godwit fence add")
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

    /// Returns the trackables to which the rule applies; `nil` for all.
    package func members(in groups: [String: Set<TrackableID>]) -> Set<TrackableID>? {
        guard !self.trackables.isEmpty || !self.groups.isEmpty else { return nil }
        return self.groups.reduce(into: Set(self.trackables)) { $0.formUnion(groups[$1] ?? []) }
    }

    /// The name of the fence in the condition; `nil` for none.
    package var fence: String? {
        switch self.condition {
        case .enter(let name), .leave(let name), .dwell(let name, _): name
        case .arrived, .silent, .speed, .lowBattery: nil
        }
    }
}

extension RuleDefinition {
    /// A definition from what is kept or was sent: `{"when":"enter","fence":"depot","trackables":["van-7"],"groups":["vans"]}`, with
    /// `seconds` for `dwell` and `silent`, and `limit` for `speed` (m/s) and `lowBattery` (percent).
    ///
    /// - Throws: `invalidConfiguration` that says what is not as it should be.
    package init(name: String, json: JSONValue) throws(TrackingError) {
        func text(_ member: String) throws(TrackingError) -> String {
            if let text = json[member]?.text { return text }
            throw TrackingError(.invalidConfiguration, "rule '\(name)': \(member) is missing, or no text")
        }
        func number(_ member: String) throws(TrackingError) -> Double {
            if let number = json[member]?.number { return number }
            throw TrackingError(.invalidConfiguration, "rule '\(name)': \(member) is missing, or no number")
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
                "rule '\(name)': when is enter, leave, dwell, arrived, silent, speed or lowBattery, not \(other.prefix(40))"
            )
        }
        var trackables: [TrackableID] = []
        for id in json["trackables"]?.list ?? [] { trackables.append(try TrackableID(id.text ?? "")) }
        self.init(
            name: name, condition, trackables: trackables, groups: (json["groups"]?.list ?? []).compactMap(\.text))
    }

    /// The stored JSON object: see ``init(name:json:)``.
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
