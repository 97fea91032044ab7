import TestSupport
import Testing
import TrackingCore

@testable import TrackingSubscriber

/// Plays Tests/Scenarios/subscriber.
@Suite struct SubscriberScenarioTests {
    @Test(arguments: ScenarioPlayer.names(in: "subscriber")) func scenario(name: String) throws {
        var talk = try SubscriberConversation()
        #expect(try ScenarioPlayer(name, in: "subscriber").play { words in try Self.happen(words, &talk) } == [])
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "subscriber").count >= 8) }

    /// `with silent|asking|raw|enhanced|recorded|all|random` before everything else, `watch [500]`, `unwatch`, `request 500|none`,
    /// `connect 0`, `lose`, `renew`, `close`, `granted [not van]`, `refused`, `acked [not van/request/w1]`, `resolution 1000 60000`,
    /// `update 3 [of two] [skipping 2] [retained]`, `enhanced 3 [of two] [retained]`, `prefer published`, `position cleared`, `trip 2 [ENDED]`, `event 3`, `batch 4`, `tell 7`,
    /// `publisher d1 a/0 [since 500] [of one] [called bike] [retained|cleared]`, `online|offline d1 a/0 [retained]`, `own online mine/0`,
    /// `expect`, `garbage van`, `wait 2.5`, `stop`.
    private static func happen(_ words: [String], _ talk: inout SubscriberConversation) throws -> [String] {
        let van = try TrackableID("van")
        switch words[0] {
        case "with": talk = try SubscriberConversation { Self.configure(&$0, words) }
        case "watch": return talk.happened(.watch(van, try words.dropFirst().first.map(Self.resolution)))
        case "unwatch": return talk.happened(.unwatch(van))
        case "request":
            return talk.happened(.request(van, words[1] == "none" ? nil : try Self.resolution(words[1])))
        case "connect": return talk.connect(try #require(Int(words[1])))
        case "lose": return talk.lose()
        case "renew":
            let end = Disconnection(reason: nil, retry: .zero, lasted: .seconds(20))
            return talk.happened(.transport(.disconnected(end)))
        case "close":
            let end = Disconnection(reason: nil, retry: nil, lasted: .zero)
            return talk.happened(.transport(.disconnected(end)))
        case "granted": return talk.granted(refusingOnly: Self.value("not", words).map { "tracking/" + $0 })
        case "refused": return talk.granted(refusing: TrackingError(.notAuthorized, "forbidden"))
        case "acked": return talk.acked(refusing: Set(Self.value("not", words).map { ["tracking/" + $0] } ?? []))
        case "wait": return talk.wait(.seconds(try #require(Double(words[1]))))
        case "prefer":
            return talk.happened(.watch(van, nil, words[1] == "enhanced" ? .enhanced : .published))
        case "expect": return talk.happened(.expect([van]))
        case "stop": return talk.happened(.stop)
        case "tell":
            let event = TrackingEvent(
                id: "e", stream: try #require(StreamID("mine")), seq: 1, time: UnixTime(1), kind: .lowBattery)
            return talk.happened(.publish(event, of: van, request: try #require(UInt64(words[1]))))
        default: return try Self.received(words, &talk)
        }
        return []
    }

    private static func received(_ words: [String], _ talk: inout SubscriberConversation) throws -> [String] {
        let isRetained = words.contains("retained")
        let stream = Self.value("of", words) ?? "one"
        switch words[0] {
        case "resolution":
            return talk.resolution(
                interval: try #require(Int(words[1])), silence: try #require(Int(words[2])), retained: isRetained)
        case "update":
            return try talk.update(
                try #require(UInt64(words[1])), of: stream,
                skipped: Self.value("skipping", words).flatMap { UInt64($0) }.map { [$0] } ?? [], retained: isRetained,
                trackable: Self.value("for", words) ?? "van")
        case "enhanced":
            return try talk.enhanced(
                try #require(UInt64(words[1])), of: stream, retained: isRetained,
                trackable: Self.value("for", words) ?? "van")
        case "position": return talk.receive("van", "")
        case "trip":
            return talk.trip(try #require(Int(words[1])), of: stream, words.contains("ENDED") ? "ENDED" : "ACTIVE")
        case "event": return talk.event(try #require(Int(words[1])), of: stream)
        case "batch": return talk.batch(events: [try #require(Int(words[1]))], of: stream, at: 900)
        case "garbage": return talk.receive(words[1], "no message")
        case "publisher" where words.contains("cleared"): return talk.receive("van/publisher/\(words[1])", "")
        case "publisher":
            let run = words[2].split(separator: "/").map(String.init)
            return talk.publisher(
                words[1], run[0], connection: try #require(Int(run[1])),
                since: try Self.value("since", words).map { try #require(Double($0)) } ?? 500, stream: stream,
                metadata: Self.value("called", words), retained: isRetained)
        case "own": return talk.receive("_clients/w1", Self.liveness(words[1], words[2]), retained: isRetained)
        case "online", "offline":
            return talk.receive("_clients/\(words[1])", Self.liveness(words[0], words[2]), retained: isRetained)
        default:
            Issue.record("'\(words[0])' is no input of a subscriber")
            return []
        }
    }

    private static func configure(_ configuration: inout SubscriberConfiguration, _ words: [String]) {
        configuration.isSilent = words.contains("silent")
        configuration.isPresentOnlyWhileAsking = words.contains("asking")
        configuration.wantsRaw = words.contains("raw")
        configuration.prefers = words.contains("enhanced") ? .enhanced : .published
        configuration.wantsRecorded = words.contains("recorded")
        configuration.watchesAll = words.contains("all")
        configuration.isClientRandom = words.contains("random")
    }

    private static func resolution(_ milliseconds: String) throws -> Resolution {
        try Resolution(
            accuracy: .high, desiredInterval: .milliseconds(try #require(Int(milliseconds))), minimumDisplacement: 0)
    }

    private static func liveness(_ status: String, _ run: String) -> String {
        let run = run.split(separator: "/")
        return #"{"status":"\#(status)","session":"\#(run[0])","connection":\#(run[1]),"lease":90}"#
    }

    private static func value(_ name: String, _ words: [String]) -> String? {
        words.firstIndex(of: name).flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
    }
}
