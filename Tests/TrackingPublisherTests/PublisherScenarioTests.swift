import Testing
import TrackingCore

@testable import TrackingPublisher

/// Plays Tests/Scenarios/publisher.
@Suite struct PublisherScenarioTests {
    @Test(arguments: ScenarioFile.names(of: "publisher")) func scenario(name: String) throws {
        var talk = try PublisherConversation()
        try ScenarioFile(name, of: "publisher").play { words in try Self.happen(words, &talk) }
    }

    @Test func thereAreScenarios() { #expect(ScenarioFile.names(of: "publisher").count >= 6) }

    /// `add van [destination 10000 m] [arrival 120 s]`, `change van …`, `remove van`, `connect 0`, `lose`, `granted`, `settled`, `acked`, `echoed`, `fix 20 [300 m]`, `battery 19`,
    /// `subscriber w1 s/0 [cleared]`, `request w1 s 500 | dropped`, `publisher d2 other since 1001 [retained]`,
    /// `journey 4711 | destination:1.0,0.09 | unreadable | cleared`, `estimate 4711 90 s [age 60 s] | cleared`, `offline w1 s/0`, `online w1 s/0`, `own offline mine/0`, `own online other/0 retained`, `wait 2.5`, `stop`.
    private static func happen(_ words: [String], _ talk: inout PublisherConversation) throws -> [String] {
        switch words[0] {
        case "add": return talk.happened(.add(try Self.trackable(words)))
        case "change": return talk.happened(.change(try Self.trackable(words)))
        case "remove": return talk.happened(.remove(try TrackableID(words[1])))
        case "connect": return talk.connect(try #require(Int(words[1])))
        case "lose": return talk.lose()
        case "granted": return talk.granted()
        case "settled": return talk.settled()
        case "acked": return talk.acked()
        case "echoed": return talk.echoed()
        case "stop": return talk.happened(.stop(by: nil))
        case "battery": return talk.happened(.battery(Double(words[1])))
        case "wait": return talk.wait(.seconds(try #require(Double(words[1]))))
        case "fix":
            return try talk.fix(
                at: try #require(Double(words[1])), metres: words.count > 2 ? try #require(Double(words[2])) : 0)
        default: return try self.received(words, &talk)
        }
    }

    /// A trackable with a destination north of the first fix, and with resolutions of its own if it has a threshold.
    private static func trackable(_ words: [String]) throws -> Trackable {
        var trackable = Trackable(try TrackableID(words[1]))
        trackable.destination = try Self.number("destination", in: words).map {
            try #require(Coordinate(latitude: $0 / 111_195, longitude: 1))
        }
        if let seconds = Self.number("arrival", in: words) {
            trackable.constraints = try ResolutionConstraints(
                resolutions: ResolutionSet(
                    farWithoutSubscriber: Resolution(
                        accuracy: .low, desiredInterval: .seconds(10), minimumDisplacement: 0),
                    nearWithoutSubscriber: Resolution(
                        accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 0)),
                proximityThreshold: ProximityThreshold(temporal: .seconds(seconds)))
        }
        return trackable
    }

    private static func number(_ word: String, in words: [String]) -> Double? {
        words.firstIndex(of: word).flatMap { Double(words[$0 + 1]) }
    }

    /// A journey with one stop.
    private static func journey(_ words: [String], _ talk: inout PublisherConversation) throws -> [String] {
        let place = try #require(Coordinate(latitude: 0.1, longitude: 1))
        let payload: [UInt8] =
            switch words[1] {
            case "cleared": []
            case "unreadable": Array("?".utf8)
            default: try MessageCodec.encode(Journey(stops: [Journey.Stop(id: words[1], location: place)]))
            }
        return talk.receive("tracking/van/journey", payload, retained: words.contains("retained"))
    }

    /// An estimate with one stop, which the trackable reaches in the given time.
    private static func estimate(_ words: [String], _ talk: inout PublisherConversation) throws -> [String] {
        guard words[1] != "cleared" else { return talk.receive("tracking/van/estimate", "") }
        let now = UnixTime(1000).advanced(by: talk.now.sinceOrigin)
        let eta = now.advanced(by: .seconds(try #require(Double(words[2]))))
        let age = Duration.seconds(Self.number("age", in: words) ?? 0)
        let estimate = Estimate(
            time: now.advanced(by: .zero - age), basis: .route,
            stops: [Estimate.Stop(id: words[1], eta: eta, distance: 3_000, status: .enRoute)])
        return talk.receive("tracking/van/estimate", try MessageCodec.encode(estimate))
    }

    private static func received(_ words: [String], _ talk: inout PublisherConversation) throws -> [String] {
        let isRetained = words.contains("retained")
        switch words[0] {
        case "subscriber" where words.contains("cleared"):
            return talk.receive("tracking/van/subscriber/\(words[1])", "")
        case "subscriber":
            let run = words[2].split(separator: "/")
            return talk.subscriber(words[1], String(run[0]), connection: try #require(Int(run[1])))
        case "request" where words[2] == "dropped": return talk.receive("tracking/van/request/\(words[1])", "")
        case "request": return talk.request(words[1], words[2], interval: try #require(Int(words[3])))
        case "publisher":
            return talk.publisher(words[1], words[2], since: try #require(Double(words[4])), retained: isRetained)
        case "journey": return try self.journey(words, &talk)
        case "estimate": return try self.estimate(words, &talk)
        case "own": return self.liveness("d1", words, &talk)
        case "online", "offline": return self.liveness(words[1], [""] + [words[0]] + words.dropFirst(2), &talk)
        default:
            Issue.record("'\(words[0])' is nothing that happens to a publisher")
            return []
        }
    }

    private static func liveness(
        _ client: String, _ words: [String], _ talk: inout PublisherConversation
    ) -> [String] {
        let run = words[2].split(separator: "/")
        return talk.receive(
            "tracking/_clients/\(client)",
            #"{"status":"\#(words[1])","session":"\#(run[0])","connection":\#(run[1]),"lease":90}"#,
            retained: words.contains("retained"))
    }
}
