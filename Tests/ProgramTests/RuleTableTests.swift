import Testing
import TrackingCore
import TrackingRules

@testable import godwit

/// The list of `godwit rule list`.
@Suite struct RuleTableTests {
    private func rules() throws -> [RuleDefinition] {
        let vans = [try TrackableID("van-7"), try TrackableID("van-8")]
        return [
            RuleDefinition(name: "at-depot", .enter(fence: "depot")),
            RuleDefinition(name: "left", .leave(fence: "yard"), trackables: vans, groups: ["north"]),
            RuleDefinition(name: "waiting", .dwell(fence: "depot", seconds: 600)),
            RuleDefinition(name: "there", .arrived, groups: ["north"]),
            RuleDefinition(name: "lost", .silent(seconds: 5400)),
            RuleDefinition(name: "gone", .silent(seconds: 172_800)),
            RuleDefinition(name: "fast", .speed(above: 27.8)), RuleDefinition(name: "flat", .lowBattery(below: 15)),
        ]
    }

    @Test func theRulesAreATable() throws {
        let text = RuleTable(try self.rules()).text(.text, limit: nil)
        #expect(
            text == """
                name      trackables                 condition             fence
                at-depot  all                        enter                 depot
                left      van-7, van-8, group north  leave                 yard
                waiting   all                        dwell 10 min          depot
                there     group north                arrived               –
                lost      all                        silent 90 min         –
                gone      all                        silent 2 d            –
                fast      all                        speed above 27.8 m/s  –
                flat      all                        battery below 15 %    –

                """)
        #expect(RuleTable([]).text(.text, limit: nil) == "")
        let narrow = RuleTable(try self.rules()).text(.text, limit: 60)
        #expect(narrow.split(separator: "\n").allSatisfy { $0.count <= 60 })
    }

    @Test func aRuleThatIsNotAppliedGetsAWarning() {
        let warning = RuleTable.warning(about: UnusableRule(name: "a\u{1B}b", reason: "the fence is missing"))
        #expect(warning.hasPrefix("Warning: rule 'a") && warning.hasSuffix("godwit rule remove\n"))
        #expect(warning.contains("is not applied: the fence is missing.") && !warning.contains("\u{1B}"))
    }

    @Test func jsonHasAnObjectALine() throws {
        let lines = RuleTable(try self.rules()).text(.json, limit: nil).split(separator: "\n")
        #expect(lines.count == 8 && lines[0] == #"{"name":"at-depot","rule":{"fence":"depot","when":"enter"}}"#)
    }
}
