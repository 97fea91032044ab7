import ArgumentParser
import GodwitOptions
import Testing
import TrackingControl
import TrackingCore
import TrackingPublisher

@testable import godwit_agent

/// The changes of settings that an agent accepts through the broker.
@Suite struct RemoteConfigurationRuleTests {
    /// Options before, the change, and the setting that the refusal names; `nil` where the change is accepted.
    private static let cases: [(given: [String], change: [String: [String]?], refused: String?)] = [
        // Retention only grows.
        ([], ["keep-points": ["1"]], "keep-points"), (["--keep-points", "9"], ["keep-points": ["8"]], "keep-points"),
        (["--keep-points", "9"], ["keep-points": ["9"]], nil), (["--keep-points", "9"], ["keep-points": ["10"]], nil),
        (["--keep-points", "9"], ["keep-points": nil], nil), ([], ["keep-bytes": ["1000000"]], "keep-bytes"),
        (["--keep-bytes", "9"], ["keep-bytes": ["8"]], "keep-bytes"),
        (["--keep-bytes", "9"], ["keep-bytes": nil], nil),
        ([], ["keep-days": ["0.5"]], "keep-days"), (["--keep-days", "2"], ["keep-days": ["1.5"]], "keep-days"),
        (["--keep-days", "2"], ["keep-days": ["3"]], nil),
        ([], ["profile": ["nextbillion"]], "keep-points"),
        (["--keep-points", "9"], ["profile": ["nextbillion"]], "on-collision"),
        (["--profile", "nextbillion"], ["profile": ["overland"]], nil),
        ([], ["on-collision": ["clear"]], "on-collision"),
        (["--on-collision", "clear"], ["on-collision": ["keep"]], nil),
        // Zones are only added or tightened.
        (["--zone", "a,1,2,100"], ["zone": nil], "zone"),
        (["--zone", "a,1,2,100"], ["zone": ["b,1,2,100"]], "zone"),
        (["--zone", "a,1,2,100"], ["zone": ["a,1,2,99"]], "zone"),
        (["--zone", "a,1,2,100"], ["zone": ["a,1.01,2,100"]], "zone"),
        (["--zone", "a,1,2,100,omit"], ["zone": ["a,1,2,100"]], "zone"),
        (["--zone", "a,1,2,100"], ["zone": ["a,1,2,100,omit"]], nil),
        (["--zone", "a,1,2,100"], ["zone": ["a,1,2,101"]], nil),
        (["--zone", "a,1,2,100"], ["zone": ["a,1.001,2,500"]], nil),
        (["--zone", "a,1,2,100"], ["zone": ["a,1,2,100", "b,3,4,100"]], nil),
        ([], ["zone": ["a,1,2,100"]], nil),
        // A zone that cuts another one would show where in it the device is.
        (["--zone", "a,1,2,1000"], ["zone": ["a,1,2,1000", "b,1.001,2,10"]], "zone"),
        (["--zone", "a,1,2,1000"], ["zone": ["a,1,2,1000", "b,1.009,2,100"]], "zone"),
        (["--zone", "a,1,2,1000"], ["zone": ["a,1,2,1000", "b,1.001,2,2000"]], nil),
        // The margins are 100 m and 10 m, and the centres are about 1200 m or 1220 m apart.
        (["--zone", "a,1,2,1000"], ["zone": ["a,1,2,1000", "b,1.0108,2,100"]], "zone"),
        (["--zone", "a,1,2,1000"], ["zone": ["a,1,2,1000", "b,1.011,2,100"]], nil),
        (["--zone", "a,1,2,1000", "--zone", "b,1.05,2,100"], ["zone": ["a,1,2,5500", "b,1.05,2,100"]], "zone"),
        // Floors are only added or coarser.
        (["--floor", "LOW/10000/5"], ["floor": nil], "floor"),
        (["--floor", "LOW/10000/5"], ["floor": ["HIGH/10000/5"]], "floor"),
        (["--floor", "LOW/10000/5"], ["floor": ["MINIMUM/9999/5"]], "floor"),
        (["--floor", "LOW/10000/5"], ["floor": ["MINIMUM/20000/4"]], "floor"),
        (["--floor", "LOW/10000/5"], ["floor": ["LOW/10000/5"]], nil),
        (["--floor", "LOW/10000/5"], ["floor": ["MINIMUM/20000/6"]], nil), ([], ["floor": ["LOW/10000/5"]], nil),
        // Other settings are not its concern.
        (["--keep-points", "9", "--zone", "a,1,2,100"], ["mode": ["active"], "raw": ["true"]], nil),
    ]

    private func plan(_ given: [String]) throws -> AgentPlan {
        try AgentPlan(
            given: LayeredArguments.values(
                ["run", "--trackable", "van-7", "--source", "simulate:"] + given, environment: [:],
                for: GodwitAgent.self))
    }

    @Test(arguments: Self.cases.indices) func aChangeIsAcceptedOrRefused(index: Int) throws {
        let (given, change, refused) = Self.cases[index]
        let old = try self.plan(given)
        let new = try old.setting(change)
        do throws(CommandFailure) {
            try RemoteConfigurationRule.check(from: try OwnerProtection(old), to: try OwnerProtection(new))
            #expect(refused == nil, "\(given) \(change)")
        } catch {
            #expect(error.code == .notAllowed)
            #expect(
                error.message.hasPrefix("\(refused ?? "nothing") may not change from "), "\(given) \(change): \(error)")
        }
    }

    @Test func aRefusalNamesBothValuesAndTheRemedyAndNoPlace() throws {
        let old = try self.plan(["--zone", "home,52.66,-8.62,100"])
        func refusal(_ change: [String: [String]?]) throws -> String {
            let error = #expect(throws: CommandFailure.self) {
                try RemoteConfigurationRule.check(
                    from: try OwnerProtection(old), to: try OwnerProtection(old.setting(change)))
            }
            return error?.message ?? ""
        }
        let limit = try refusal(["keep-points": ["1"]])
        #expect(limit.hasPrefix("keep-points may not change from no limit to 1 through the broker: "))
        #expect(limit.contains("godwit-agent configure") && limit.hasSuffix("--allow-commands unrestricted"))
        let zone = try refusal(["zone": nil])
        #expect(zone.hasPrefix("zone may not change from 1 zone to 0 zones through the broker: "))
        #expect(!zone.contains("52.66") && !zone.contains("home"))
    }

    /// A coarser ceiling would let a request hide the trackable from everyone.
    @Test(
        arguments: [
            ("LOW/60000/100", true), ("HIGH/1000/1", true), ("MINIMUM/60000/100", false), ("LOW/60001/100", false),
            ("HIGH/1000/101", false), (nil, false),
        ] as [(String?, Bool)]) func aCeilingBecomesOnlyFiner(next: String?, isAccepted: Bool) throws
    {
        let id = try TrackableID("van")
        let old = OwnerProtection(ceilings: [id: try #require(Resolution(argument: "LOW/60000/100"))])
        var new = old
        new.ceilings[id] = next.flatMap { Resolution(argument: $0) }
        do throws(CommandFailure) {
            try RemoteConfigurationRule.check(from: old, to: new)
            #expect(isAccepted)
        } catch {
            #expect(!isAccepted && error.message.hasPrefix("ceiling may not change from LOW/60000/100 to "))
        }
    }

    /// A flag as before, or a flag with a value.
    @Test(
        arguments: [
            ([], nil), (["--allow-commands"], .restricted), (["--allow-commands", "--raw"], .restricted),
            (["--allow-commands", "unrestricted"], .unrestricted),
            (["--allow-commands=unrestricted", "--raw"], .unrestricted),
            (["--allow-commands", "restricted"], .restricted), (["--allow-commands=false"], .off),
        ] as [([String], RemoteCommands.Acceptance?)])
    func commandsAreAcceptedWhereThatIsGiven(given: [String], acceptance: RemoteCommands.Acceptance?) throws {
        let plan = try self.plan(given)
        #expect(plan.run.controls.allowCommands == acceptance)
        #expect(plan.run.input.raw == given.contains("--raw"))
        let configuration = try plan.configuration(for: plan.run.broker.identity())
        #expect(configuration.takesCommands == (acceptance == .restricted || acceptance == .unrestricted))
        #expect(throws: (any Error).self) { try self.plan(["--allow-commands", "everything"]) }
    }
}
