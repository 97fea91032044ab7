import Testing

@testable import TrackingCore

/// Words of a scenario: `name value` pairs in any order.
struct ScenarioWords {
    let words: [String]

    init(_ words: [String]) { self.words = words }

    func text(_ name: String) -> String? {
        self.words.firstIndex(of: name).flatMap { self.words.indices.contains($0 + 1) ? self.words[$0 + 1] : nil }
    }

    func number(_ name: String) throws -> Double? {
        try self.text(name).map { try #require(Double($0), "\(name) \($0)") }
    }

    func has(_ word: String) -> Bool { self.words.contains(word) }

    /// `fix AT [north M] [east M] [speed M/S] [accuracy M] [motion NAME] [zone|predicted]`.
    func fix() throws -> Location {
        var fix = Location.fix(
            north: try self.number("north") ?? 0, east: try self.number("east") ?? 0,
            at: try #require(Double(self.words[1])), speed: try self.number("speed"),
            accuracy: try self.number("accuracy"),
            motion: try self.text("motion").map { [try #require(Motion(rawValue: $0))] } ?? [])
        fix.source = self.has("zone") ? .zone : self.has("predicted") ? .predicted : .gps
        return fix
    }
}

extension Happening {
    /// The event in one line, members in order of their names.
    var line: String {
        ([self.kind.rawValue]
            + self.detail.sorted { $0.key < $1.key }.map { name, value in
                switch value {
                case .text(let text): "\(name)=\(text)"
                case .number(let number) where number > 1_699_000_000: "\(name)=\(Int(number) - 1_700_000_000)"
                case .number(let number): "\(name)=\(Int(number.rounded()))"
                case .flag(let flag): "\(name)=\(flag)"
                case .list, .object: "\(name)=\(String(decoding: value.json, as: UTF8.self))"
                }
            }).joined(separator: " ")
    }
}

/// Plays Tests/Scenarios/pause.
@Suite struct PauseScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "pause")) func scenario(name: String) throws {
        var machine = PauseStateMachine(activity: .other)
        try ScenarioFile(name, of: "pause").play { words in
            let given = ScenarioWords(words)
            let change: PauseStateMachine.Change?
            switch words[0] {
            case "activity":
                machine = PauseStateMachine(activity: try #require(Activity(rawValue: words[1])))
                return []
            case "stepped":
                machine.clockStepped()
                return []
            case "fix": change = machine.moved(try given.fix(), at: .at(try #require(Double(words[1]))))
            case "time":
                change = machine.timerFired(now: Moment.at(try #require(Double(words[1]))).now)
            case "deadline":
                return [machine.nextDeadline.map { "\(Int($0.sinceOrigin.inSeconds))" } ?? "none"]
            default:
                Issue.record("'\(words[0])' is nothing that happens to a pause machine")
                return []
            }
            return [change?.happening.line, change?.visit?.line].compactMap { $0 }
        }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "pause").count >= 4) }

    @Test func figuresOutOfRangeAreRefused() {
        #expect(throws: TrackingError.self) { try PauseStateMachine(radius: 0, after: .seconds(1)) }
        #expect(throws: TrackingError.self) { try PauseStateMachine(radius: Meters(.infinity), after: .seconds(1)) }
        #expect(throws: TrackingError.self) { try PauseStateMachine(radius: 1, after: .zero) }
    }
}

/// Plays Tests/Scenarios/zones: `zone NAME north M radius M [omit]`, then `fix …`.
@Suite struct ZoneScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "zones")) func scenario(name: String) throws {
        var zones = try PrivacyZones()
        try ScenarioFile(name, of: "zones").play { words in
            let given = ScenarioWords(words)
            switch words[0] {
            case "zone":
                let center = Location.fix(north: try given.number("north") ?? 0, at: 0).coordinate
                let radius = Meters(try given.number("radius") ?? 100)
                zones = try PrivacyZones(
                    zones.zones + [
                        PrivacyZone(
                            name: words[1], center: center, radius: radius, rule: given.has("omit") ? .omit : .replace)
                    ])
                return []
            case "fix":
                let fix = try given.fix()
                let verdict = zones.moved(fix)
                let shown =
                    verdict.location.map { location in
                        location == fix
                            ? "as it is" : "\(Int(location.coordinate.distance(to: Location.origin).value.rounded())) m"
                    } ?? "nothing"
                return verdict.crossings.map(\.line) + ["shown: \(shown)"]
            default:
                Issue.record("'\(words[0])' is nothing that happens to zones")
                return []
            }
        }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "zones").count >= 2) }
}

/// Plays Tests/Scenarios/motion: each fix is answered with the motions that it is labelled with.
@Suite struct MotionScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "motion")) func scenario(name: String) throws {
        var machine = MotionStateMachine(activity: .other)
        try ScenarioFile(name, of: "motion").play { words in
            switch words[0] {
            case "fix":
                let motions = machine.label(try ScenarioWords(words).fix()).motion.map(\.rawValue)
                return [motions.isEmpty ? "unknown" : motions.joined(separator: " ")]
            default:
                Issue.record("'\(words[0])' is nothing that happens to a motion machine")
                return []
            }
        }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "motion").count >= 2) }
}
