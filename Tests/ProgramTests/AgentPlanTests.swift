import ArgumentParser
import Foundation
import GodwitOptions
import Testing
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

@testable import godwit_agent

/// The plan of an agent: the options given at its start together with the changes made since.
@Suite struct AgentPlanTests {
    private func given(_ more: [String] = [], environment: [String: String] = [:]) throws -> OptionValues {
        try LayeredArguments.values(
            ["run", "--trackable", "van-7", "--source", "simulate:"] + more, environment: environment,
            for: GodwitAgent.self)
    }

    private func plan(_ more: [String] = [], kept: AgentSettings = AgentSettings()) throws -> AgentPlan {
        try AgentPlan(given: self.given(more), kept: kept)
    }

    /// The plan as the next start of the agent reads it.
    private func kept(_ plan: AgentPlan) throws -> AgentSettings {
        let settings = try AgentSettings(plan.settings.encoded())
        #expect(settings == plan.settings)
        return settings
    }

    @Test func recordersAreNamedWithCommasOrOneByOne() throws {
        let plan = try self.plan(["--acknowledge-by", "keeper,backup", "--acknowledge-by", "third"])
        let configuration = try plan.configuration(for: plan.run.broker.identity())
        #expect(configuration.recording.recorders.map(\.rawValue).sorted() == ["backup", "keeper", "third"])
        let status = AgentStatus(plan, nil, nil, now: UnixTime(0))
        #expect(status.recorders.map(\.rawValue) == ["backup", "keeper", "third"])
        for wrong in ["keeper,", ",", "a b"] {
            #expect(throws: (any Error).self) { try self.plan(["--acknowledge-by", wrong]) }
        }
    }

    @Test func theLeaseIsLimitedToFiveMinutes() throws {
        let plan = try self.plan(["--lease", "300"])
        #expect(try plan.configuration(for: plan.run.broker.identity()).lease == .seconds(300))
        for wrong in ["9", "301"] {
            #expect(throws: (any Error).self) { try self.plan(["--lease", wrong]) }
        }
    }

    @Test func aServerTakesThePlaceOfTheBroker() throws {
        let plan = try self.plan(["--forward", "overland+https://example.org/a?token=secret#token-file=/etc/token"])
        let configuration = try plan.configuration(for: plan.run.broker.identity())
        #expect(!configuration.sendsLive, "a point leaves the log only through a batch")
        #expect(AgentStatus(plan, nil, nil, now: UnixTime(0)).connection.broker == "overland+https://example.org")
        #expect(throws: (any Error).self) { try plan.setting(["broker": ["mqtt://127.0.0.1"]]) }
        #expect(throws: (any Error).self) { try plan.setting(["raw": ["true"]]) }
        let wrong = [
            ["--token-file", "a"], ["--secret-file", "a"], ["--forward", "mqtt://a"], ["--forward", "https://a"],
        ]
        for wrong in wrong {
            #expect(throws: (any Error).self) { try self.plan(wrong) }
        }
    }

    @Test func standardInputIsOneSource() throws {
        _ = try self.plan(["--source", "nmea:-"])
        #expect(throws: (any Error).self) { try self.plan(["--source", "nmea:-", "--source", "jsonl:-#accuracy=LOW"]) }
    }

    // MARK: - What lasts

    @Test func changesLast() throws {
        let place = try #require(Coordinate(latitude: -33.9, longitude: 151.2))
        let van8 = AgentSettings.TrackedTrackable(id: try TrackableID("van-8"), destination: place)
        let changed = try self.plan(["--mode", "active"]).setting(["mode": ["passive"], "keep-points": ["7"]])
            .tracking([van8]).switched(isOn: false)
        let next = try self.plan(["--mode", "active"], kept: self.kept(changed))
        #expect(next.run.capture.mode == .passive && next.run.recording.keepPoints == 7)
        #expect(next.tracked == [van8] && !next.settings.isOn)
    }

    @Test func aNewGivenValueWinsOverAnEarlierChange() throws {
        let changed = try self.plan(["--mode", "active"]).setting(["mode": ["passive"], "keep-points": ["7"]])
            .tracking([])
        let next = try self.plan(
            ["--mode", "balanced", "--destination", "1,2"], kept: self.kept(changed))
        #expect(next.run.capture.mode == .balanced, "the option was given anew")
        #expect(next.run.recording.keepPoints == 7, "this one was not")
        #expect(next.tracked.map(\.id.rawValue) == ["van-7"])
    }

    @Test func aChangeThatIsUndoneIsNotKept() throws {
        let plan = try self.plan(["--mode", "active"])
        let back = try plan.setting(["mode": ["passive"]]).setting(["mode": ["active"]]).tracking([])
            .tracking(plan.tracked)
        #expect(back.settings == AgentSettings())
        #expect(try plan.setting(["mode": nil]).run.capture.mode == nil, "as if it were not given")
    }

    @Test func passwordsInAddressesAreNotRemembered() throws {
        let plan = try self.plan(["--broker", "mqtt://box:hunter2@a"]).setting(["broker": ["mqtt://box@b"]])
        let bytes = try plan.settings.encoded()
        #expect(!String(decoding: bytes, as: UTF8.self).contains("hunter2"))
        let next = try self.plan(["--broker", "mqtt://box:hunter2@a"], kept: self.kept(plan))
        #expect(try next.run.broker.addresses.map(\.host) == ["b"])
    }

    /// An invalid change does not undo others: the agent stays off, and a privacy zone keeps hiding positions.
    @Test(arguments: [
        (["raw": "true", "keep-points": "7"], ["--live", "off"], ["raw"]),
        (["maximum-silence": "120"], ["--trackable", "van-8"], ["maximum-silence"]),
        (
            ["maximum-silence": "120", "raw": "true"], ["--trackable", "van-8", "--live", "off"],
            ["maximum-silence", "raw"]
        ),
        (["proximity": "300", "destination": "1,2"], ["--destination", "3,4"], []),
        (["proximity": "300"], ["--destination", "3,4"], []), (["raw": "true"], ["--keep-points", "9"], []),
    ])
    func oneChangeThatDoesNotFitUndoesNoOther(changes: [String: String], more: [String], misfits: [String]) throws {
        let zone = "home,52,13,500,omit"
        var changed = try self.plan(more.first == "--destination" ? ["--destination", "1,2"] : [])
            .setting(["zone": [zone], "broker": ["mqtt://box@b"], "password-file": ["/token"]])
        for (name, text) in changes where name != "destination" { changed = try changed.setting([name: [text]]) }
        let van8 = AgentSettings.TrackedTrackable(
            id: try TrackableID("van-9"), destination: changed.tracked[0].destination)
        changed = try changed.tracking([van8]).switched(isOn: false)
        let fitted = try FittedPlan(given: self.given(more), kept: self.kept(changed))
        #expect(fitted.misfits.map(\.change) == misfits)
        #expect(fitted.misfits.allSatisfy { !$0.reason.isEmpty && !$0.reason.contains("CommandError") })
        #expect(!fitted.plan.settings.isOn)
        #expect(fitted.plan.options["zone"] == [zone] && fitted.plan.options["password-file"] == ["/token"])
        for name in changes.keys where name != "destination" {
            #expect((fitted.plan.options[name] == nil) == misfits.contains(name), "\(name)")
        }
    }

    @Test func aChangeThatFitsOnlyWithAnotherIsKeptWithIt() throws {
        let far = ["resolution-far", "resolution-far-watched", "resolution-near", "resolution-near-watched"]
        let members = Dictionary(uniqueKeysWithValues: far.map { ($0, ["HIGH/1000/1"] as [String]?) })
        let changed = try self.plan().setting(members.merging(["raw": ["true"]]) { $1 })
        let fitted = try FittedPlan(given: self.given(["--live", "off"]), kept: self.kept(changed))
        #expect(fitted.misfits.map(\.change) == ["raw"] && far.allSatisfy { fitted.plan.options[$0] != nil })
    }

    @Test func theReasonOfAMisfitRepeatsNoZone() throws {
        var settings = AgentSettings()
        settings.options["zone"] = .init(before: nil, after: ["home,52.66"])
        let fitted = try FittedPlan(given: self.given(), kept: settings)
        #expect(
            fitted.misfits == [
                .init(
                    change: "zone",
                    reason: "a value of the setting 'zone' has the wrong form. See --zone in godwit-agent run --help")
            ])
    }

    /// The changes of a set-up link belong together: a token is sent only to its own broker and for its own user.
    @Test(arguments: [
        (["--broker", "mqtt://u@a"], "", true), (["--broker", "mqtt://u@b"], "", false),
        (["--broker", "mqtt://v@a"], "", false), (["--broker", "mqtt://a"], "", false), ([], "", false),
        (["--broker", "mqtt://u@a"], "second", false), (["--broker", "mqtt://u:second@a"], "", false),
        (["--broker", "mqtt://u@a", "--password-file", "/nonexistent/second"], "", false),
    ])
    func aTokenBelongsToTheBrokerAndTheUserOfItsLink(more: [String], password: String, isKept: Bool) throws {
        let first = try self.plan(["--broker", "mqtt://u@a"])
        // A token alone leaves the address as it was.
        for address in ["mqtt://u@a", "mqtt://u@c:1883"] {
            let linked = try first.setting(["broker": [address], "password-file": ["/token"], "keep-points": ["7"]])
            let given = try self.given(more, environment: ["GODWIT_PASSWORD": password])
            guard more.contains(where: { $0.contains("@") }) || password.isEmpty else { continue }
            let next = try AgentPlan(given: given, kept: self.kept(linked))
            #expect(next.run.broker.passwordFile == (isKept ? "/token" : given["password-file"]?.first))
            #expect(next.run.broker.broker == (isKept ? [address] : given["broker"] ?? []))
            #expect(next.run.recording.keepPoints == 7, "the rest is not concerned")
            #expect((next.settings.login != nil) == isKept)
        }
    }

    /// The token of a set-up link replaces a command, until another command is given.
    @Test func aLinkReplacesAPasswordCommand() throws {
        let more = ["--broker", "mqtt://u@a", "--password-command", "vault a"]
        let linked = try self.plan(more).setting(["password-file": ["/token"], "password-command": nil])
        #expect(linked.run.broker.passwordCommand == nil && linked.run.broker.passwordFile == "/token")
        let kept = try self.kept(linked)
        #expect(try self.plan(more, kept: kept).run.broker.passwordFile == "/token")
        let other = try self.plan(["--broker", "mqtt://u@a", "--password-command", "vault b"], kept: kept)
        #expect(other.run.broker.passwordFile == nil && other.run.broker.passwordCommand != nil)
    }

    @Test func aPasswordThatIsGivenAnewWinsOverALink() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try "first\n".write(to: file, atomically: false, encoding: .utf8)
        let more = ["--broker", "mqtt://u@a", "--password-file", file.path()]
        let linked = try self.plan(more).setting(["broker": ["mqtt://u@b"], "password-file": ["/token"]])
        #expect(try !String(decoding: linked.settings.encoded(), as: UTF8.self).contains("first"))
        #expect(try self.plan(more, kept: self.kept(linked)).run.broker.passwordFile == "/token")
        try "second\n".write(to: file, atomically: false, encoding: .utf8)
        #expect(try self.plan(more, kept: self.kept(linked)).run.broker.passwordFile == file.path())
        try FileManager.default.removeItem(at: file)
        #expect(try self.plan(more, kept: self.kept(linked)).run.broker.passwordFile == "/token", "none is given anew")
    }

    @Test(arguments: [
        "", "{}", "[1]", #"{"version":2,"on":true,"options":{}}"#, #"{"version":1,"on":"no","options":{}}"#,
    ])
    func anUnreadableSettingsFileIsRejected(text: String) {
        #expect(throws: TrackingError.self) { try AgentSettings(Array(text.utf8)) }
    }

    @Test func aProfileLiesBeneathWhatIsGiven() throws {
        let plan = try self.plan(["--batch-size", "9"]).setting(["profile": ["nextbillion"]])
        #expect(plan.run.recording.batchSize == 9)
        #expect(plan.run.recording.keepPoints == 5000)
        #expect(try plan.setting(["profile": ["overland"]]).run.recording.keepPoints == nil)
    }

    @Test func theEnvironmentIsGivenToo() throws {
        let given = try self.given(environment: [
            "GODWIT_MODE": "passive", "GODWIT_RAW": "on", "GODWIT_ZONE": "a,1,2,30\nb,3,4,50",
        ])
        #expect(given["mode"] == ["passive"] && given["raw"] == ["true"] && given["zone"]?.count == 2)
        #expect(try AgentPlan(given: given).run.capture.zone.count == 2)
    }

    // MARK: - What is carried

    @Test func anAddedTrackableHasTheSettingsOfTheOptionsExceptTheDestination() throws {
        let plan = try self.plan([
            "--destination", "1,2", "--proximity", "300", "--floor", "HIGH/1000/0", "--ceiling", "LOW/60000/9",
        ])
        let van8 = AgentSettings.TrackedTrackable(id: try TrackableID("van-8"), destination: nil)
        let both = try plan.tracking(plan.tracked + [van8]).trackables
        #expect(both.map(\.floor?.desiredInterval) == [.seconds(1), .seconds(1)])
        #expect(both.map(\.ceiling?.minimumDisplacement) == [9, 9])
        let other = try plan.setting(["ceiling": ["LOW/30000/9"]])
        #expect(other.trackables[0].ceiling?.desiredInterval == .seconds(30))
        #expect(both[0].constraints?.proximityThreshold != nil)
        #expect(both[1].destination == nil && both[1].constraints == nil)
        let there = try plan.tracking([van8]).going(van8.id, to: Coordinate(latitude: 3, longitude: 4))
        #expect(there.trackables[0].constraints?.proximityThreshold != nil, "near is near something again")
    }

    /// A proximity set for a trackable with a destination does not prevent tracking one without a destination.
    @Test func aTrackableWithoutADestinationIsTrackedDespiteAProximity() throws {
        let given = try self.plan()
        let van7 = given.tracked[0].id
        #expect(throws: (any Error).self) { try given.setting(["proximity": ["300"]]) }
        // The arrival at the stops of an operator's journey needs no destination.
        let arriving = try given.setting(["arrival": ["120"]])
        #expect(arriving.trackables[0].constraints?.proximityThreshold?.temporal == .seconds(120))
        let plan = try given.going(van7, to: Coordinate(latitude: 1, longitude: 2)).setting(["proximity": ["300"]])
        let van8 = AgentSettings.TrackedTrackable(id: try TrackableID("van-8"), destination: nil)
        #expect(try plan.tracking([van8]).trackables[0].constraints == nil)
        let nowhere = try plan.going(van7, to: nil)
        #expect(nowhere.trackables[0].constraints == nil)
        let next = try FittedPlan(given: self.given([]), kept: self.kept(nowhere))
        #expect(next.misfits.isEmpty && next.plan.options["proximity"] == ["300"])
        let there = try next.plan.going(van7, to: Coordinate(latitude: 3, longitude: 4))
        #expect(there.trackables[0].constraints?.proximityThreshold != nil)
    }

    /// Settings given as options apply to the only tracked trackable, even if the file lists others.
    @Test func settingsApplyToTheOnlyTrackedTrackable() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try "trackables: [{id: a}, {id: b, maximum-silence: 7}]".write(to: file, atomically: false, encoding: .utf8)
        let given = try LayeredArguments.values(
            ["run", "--config", file.path(), "--source", "simulate:"], environment: [:], for: GodwitAgent.self)
        let both = try AgentPlan(given: given)
        let error = #expect(throws: ValidationError.self) { try both.setting(["maximum-silence": ["120"]]) }
        #expect(error?.message.contains("--maximum-silence") == true)
        let one = try both.tracking([both.tracked[1]])
        #expect(one.trackables.map(\.maximumSilence) == [.seconds(7)])
        let changed = try one.setting(["maximum-silence": ["120"]])
        #expect(changed.trackables.map(\.maximumSilence) == [.seconds(120)])
        #expect(try AgentPlan(given: given, kept: self.kept(changed)).trackables == changed.trackables)
    }

    // MARK: - Settings

    @Test func anotherWritingOfTheSameIsNoChange() throws {
        let old = try self.plan(["--mode", "active", "--default-resolution", "HIGH/1000/0", "--automatic-trips", "Bus"])
        let next = try old.setting([
            "mode": ["ACTIVE"], "default-resolution": ["high/1000/0.0"], "automatic-trips": ["bus"],
        ])
        let changes = LiveSettings.changes(
            of: ["mode", "default-resolution", "automatic-trips"], from: old.options, to: next.options)
        #expect(changes == [.init(key: "automatic-trips", before: "Bus", after: "bus")])
        let passive = try old.setting(["mode": ["Passive"]])
        #expect(
            LiveSettings.changes(of: ["mode"], from: old.options, to: passive.options)
                == [.init(key: "mode", before: "active", after: "Passive")])
    }

    @Test func everyOptionIsAtOnceOrSaysThatItNeedsARestart() throws {
        let options = try self.plan().options
        for name in OptionTableTests.run.map(\.option) where name != "destination" {
            let isLive = LiveSettings.names.contains(name)
            #expect(options.knows(name))
            #expect(!isLive || !LiveSettings.local.contains(name), "\(name)")
            do throws(CommandFailure) {
                _ = try LiveSettings.values([name: "on"], of: options, isFromAfar: false)
                #expect(isLive, "\(name)")
            } catch {
                #expect(error.message.hasPrefix("the setting '\(name)' cannot change while the agent runs"))
            }
        }
    }

    @Test(arguments: LiveSettings.local.sorted())
    func localOptionsCannotBeSetThroughTheBroker(name: String) throws {
        let failure = #expect(throws: CommandFailure.self) {
            _ = try LiveSettings.values([name: "on", "mode": "active"], of: self.plan().options, isFromAfar: true)
        }
        #expect(failure?.code == .notAllowed)
    }

    /// Every option is listed as changeable, local or harmless, so that a new one cannot be set through the broker by
    /// mistake.
    @Test func theOtherOptionsAreHarmless() throws {
        let others = Set(OptionTableTests.run.map(\.option)).subtracting(LiveSettings.names)
            .subtracting(LiveSettings.local)
        #expect(
            others == [
                "trackable", "destination", "speed", "durability", "fail-fast", "log-level", "wifi", "live",
                "remain-present", "lease",
            ])
    }

    // MARK: - Set-up

    private func setup(_ link: String, _ plan: AgentPlan) throws -> SetupPlan {
        try SetupPlan(try SetupRequest(link: "godwit://setup?\(link)"), for: plan)
    }

    @Test func settingsThatALinkDoesNotNameRemain() throws {
        let plan = try self.plan(["--broker", "mqtts://box@a.example:99"])
        let user = try self.setup("user=b%2Fx", plan)
        #expect(user.values == ["broker": ["mqtts://b%2Fx@a.example:99"]] && user.password == nil)
        #expect(user.changes == [.init(key: "user", before: "box", after: "b/x")])
        let broker = try self.setup("broker=mqtt%3A%2F%2Fb", plan)
        #expect(broker.values == ["broker": ["mqtt://box@b:1883"]] && broker.password == nil)
        let token = try self.setup("token=new", plan)
        #expect(token.password == "new" && token.changes == [.init(key: "password", before: nil, after: nil)])
        let same = try self.setup("user=box&trackable=van-7", plan)
        #expect(same.changes.isEmpty && !same.isNewConnection && same.trackable == nil)
        let other = try self.setup("trackable=van-8", plan)
        #expect(other.trackable?.rawValue == "van-8" && !other.isNewConnection)
        #expect(throws: CommandFailure.self) { try self.setup("token=new", self.plan()) }
    }
    /// The present password may be in the address, in a file or in the environment. It is never sent to another broker
    /// or for another user.
    @Test(arguments: ["mqtts://box:hunter2@a.example:99", "password file", "environment", "command"])
    func aLinkWithoutATokenTakesNoPasswordElsewhere(place: String) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try "hunter2\n".write(to: file, atomically: false, encoding: .utf8)
        let address = place.contains("@") ? place : "mqtts://box@a.example:99"
        let more =
            switch place {
            case "password file": ["--password-file", file.path()]
            case "command": ["--password-command", "cat \(file.path())"]
            default: [] as [String]
            }
        let environment = place == "environment" ? ["GODWIT_PASSWORD": "hunter2"] : [:]
        let plan = try AgentPlan(given: self.given(["--broker", address] + more, environment: environment))
        #expect(try plan.run.broker.hasPassword)
        #expect(try plan.run.broker.login()?.password == (place == "command" ? nil : "hunter2"))
        let elsewhere = [
            "broker=mqtt%3A%2F%2Fevil.example", "broker=mqtts%3A%2F%2Fa.example%3A98",
            "broker=mqtt%3A%2F%2Fa.example%3A99", "user=other", "broker=mqtts%3A%2F%2Fa.example%3A99&user=other",
        ]
        for link in elsewhere {
            let failure = #expect(throws: CommandFailure.self, "\(link)") { try self.setup(link, plan) }
            #expect(failure?.message.contains("Ask for a link with token=") == true)
            #expect(failure?.message.contains("hunter2") == false)
            let setup = try self.setup(link + "&token=new", plan)
            #expect(setup.password == "new")
        }
        let same = try self.setup("broker=mqtts%3A%2F%2Fa.example%3A99&user=box&trackable=van-8", plan)
        #expect(!same.isNewConnection)
    }

    @Test func aLinkToOneOfTheAddressesKeepsThePassword() throws {
        let both = ["--broker", "mqtts://box:old@a.example", "--broker", "mqtts://box:old@b.example"]
        let one = try self.setup("broker=mqtts%3A%2F%2Fb.example", self.plan(both))
        #expect(one.values == ["broker": ["mqtts://box@b.example:8883"]])
        #expect(one.password == "old", "it would be lost with the address")
    }
}
