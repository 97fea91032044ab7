import GodwitOptions
import TrackingCore
import TrackingRules

/// The list of a gateway's rules that `godwit rule list` prints, as a table or as JSON.
struct RuleTable {
    private let rules: [RuleDefinition]

    /// Creates the list that is printed from the gateway's rules.
    init(_ rules: [RuleDefinition]) { self.rules = rules }

    /// Returns the rules as a table for people, or as one JSON object a line.
    ///
    /// - Parameters:
    ///   - format: The format of the list.
    ///   - limit: The largest width of a line of the table; `nil` for no limit.
    func text(_ format: ListFormat, limit: Int? = Terminal.tableWidth) -> String {
        switch format {
        case .text: self.table.text(limit: limit)
        case .json: self.rules.map(Self.json).joined()
        }
    }

    /// Returns the warning about a stored rule that the gateway does not apply, with its line end.
    static func warning(about rule: UnusableRule) -> String {
        let text =
            "Warning: rule '\(rule.name)' is not applied: \(rule.reason). Add the rule again, or remove it with godwit rule remove"
        return text.printable + "\n"
    }

    private var table: TextTable {
        var table = TextTable([
            .text("name", cutTo: 16), .text("trackables", cutTo: 12), .value("condition", .left),
            .text("fence", cutTo: 12),
        ])
        for rule in self.rules {
            table.append([
                rule.name, Self.trackables(of: rule), Self.text(rule.condition), rule.fence ?? TextTable.none,
            ])
        }
        return table
    }

    private static func trackables(of rule: RuleDefinition) -> String {
        let names = rule.trackables.map(\.rawValue) + rule.groups.map { "group \($0)" }
        return names.isEmpty ? "all" : names.joined(separator: ", ")
    }

    private static func text(_ condition: RuleDefinition.Condition) -> String {
        switch condition {
        case .enter: "enter"
        case .leave: "leave"
        case .dwell(_, let seconds): "dwell \(self.span(seconds))"
        case .arrived: "arrived"
        case .silent(let seconds): "silent \(self.span(seconds))"
        case .speed(let limit): "speed above \(self.number(limit)) m/s"
        case .lowBattery(let limit): "battery below \(self.number(limit)) %"
        }
    }

    /// Returns a time in the largest unit in which it is a whole number: `90 s`, `10 min`, `2 h`, `30 d`.
    private static func span(_ seconds: Double) -> String {
        for (unit, name) in [(86_400.0, "d"), (3600, "h"), (60, "min")]
        where seconds.truncatingRemainder(dividingBy: unit) == 0 {
            return "\(self.number(seconds / unit)) \(name)"
        }
        return "\(self.number(seconds)) s"
    }

    /// Returns a number without a fraction of zero: `15`, `27.8`.
    private static func number(_ value: Double) -> String {
        value == value.rounded() ? value.text(digits: 0) : "\(value)"
    }

    private static func json(_ rule: RuleDefinition) -> String {
        let members: [String: JSONValue] = ["name": .text(rule.name), "rule": rule.json]
        return String(decoding: JSONValue.object(members).json, as: UTF8.self).printableJSON + "\n"
    }
}
