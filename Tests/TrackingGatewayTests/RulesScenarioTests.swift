import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingRules

/// Plays Tests/Scenarios/rules.
@Suite struct RulesScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "rules")) func scenario(name: String) throws {
        var talk = try RulesConversation()
        try ScenarioFile(name, of: "rules").play { words in try Self.happen(words, &talk) }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "rules").count >= 12) }

    /// `start [position event trip]`, `stop`, `rules in:enter out:leave stay:dwell:60 quiet:silent:60 …`, `connect`, `lose`,
    /// `retained [van …]`, `fix van 20 300 [number 3] [retained] [late] [speed 12] [battery 15]`, `near van`, `far van`, `clear van`,
    /// `event van 4`, `trip van 5`, `recorded van 1 2 3`, `no history`, `saving fails`, `saving works`, `wait 2.5`,
    /// `pause 60` (without the machine), `clock 3600`.
    private static func happen(_ words: [String], _ talk: inout RulesConversation) throws -> [String] {
        let id = words.count > 1 ? try? TrackableID(words[1]) : nil
        switch words[0] {
        case "start":
            return talk.restart(kinds: Set(words.dropFirst().compactMap { Outbox.Kind(rawValue: $0) }))
        case "stop": return talk.stop()
        case "rules": return try talk.rules(Array(words.dropFirst()))
        case "connect": return talk.handle(.received(.connection(nil)))
        case "lose":
            let lost = Disconnection(reason: nil, retry: .seconds(1), lasted: nil)
            return talk.handle(.received(.connection(lost)))
        case "retained":
            return talk.handle(.received(.positionsKept(Set(try words.dropFirst().map { try TrackableID($0) }))))
        case "no": talk.hasHistory = false
        case "saving": talk.savingFails = words[1] == "fails"
        case "wait": return talk.wait(try #require(Double(words[1])))
        case "pause": talk.pause(try #require(Double(words[1])))
        case "clock": talk.step(try #require(Double(words[1])))
        case "recorded": talk.record(try #require(id), words.dropFirst(2).compactMap { UInt64($0) })
        default: return try self.received(words, try #require(id), &talk)
        }
        return []
    }

    private static func received(
        _ words: [String], _ id: TrackableID, _ talk: inout RulesConversation
    ) throws -> [String] {
        switch words[0] {
        case "fix":
            func value(_ name: String) -> Double? { words.firstIndex(of: name).flatMap { Double(words[$0 + 1]) } }
            return talk.fix(
                id, at: try #require(Double(words[2])), metres: try #require(Double(words[3])),
                number: value("number").map { UInt64($0) }, isRetained: words.contains("retained"),
                isLate: words.contains("late"), speed: value("speed"), battery: value("battery").map { $0 / 100 })
        case "near": return talk.near(id, true)
        case "far": return talk.near(id, false)
        case "clear": return talk.handle(.received(.locationCleared(id)))
        case "event": return talk.event(id, try #require(UInt64(words[2])))
        case "trip": return talk.trip(id, try #require(UInt64(words[2])))
        default:
            Issue.record("'\(words[0])' is not an input of the rules")
            return []
        }
    }
}
