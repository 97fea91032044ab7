import Testing
import TrackingCore

@testable import TrackingPublisher

/// docs/reference/resolution.md, "Damping": strangers may neither blind a device nor make it busy.
@Suite struct ResolutionDampingTests {
    private func resolutions(_ said: [String]) -> [String] { said.filter { $0.hasPrefix("van/resolution: ") } }

    private func inForce(_ talk: PublisherConversation) throws -> ResolutionInForce {
        try MessageCodec.decodeResolution(try #require(talk.said["tracking/van/resolution"])[...])
    }

    private func coarsest(_ talk: inout PublisherConversation) -> [String] {
        talk.receive(
            "tracking/van/request/w1",
            #"{"session":"s","resolution":{"accuracy":"MINIMUM","desiredInterval":31536000000,"minimumDisplacement":1e308}}"#
        )
    }

    // MARK: - Limits of requests

    @Test func theCoarsestRequestReachesTheCeilingAndLeavesTheSilenceAlone() throws {
        let eager = try Resolution(accuracy: .balanced, desiredInterval: .seconds(1), minimumDisplacement: 0)
        var talk = try PublisherConversation.online(configure: { $0.defaultResolution = eager })
        let before = try self.inForce(talk).maximumSilence
        #expect(before == .seconds(60))
        _ = self.coarsest(&talk)
        let said = talk.subscriber("w1")
        #expect(said.contains("sensor MINIMUM/600000/1000"))
        #expect(self.resolutions(said) == ["van/resolution: MINIMUM/600000/1000 ONLINE subscribers 1"])
        #expect(try self.inForce(talk).maximumSilence == before)
        // A position goes out each minute all the same.
        #expect(try talk.fix(at: 1).contains("fix 2 tooSoon"))
        talk.now = talk.now.advanced(by: .seconds(60))
        #expect(try talk.fix(at: 61).contains("fix 3 silence"))
    }

    @Test func aTrackablesCeilingTakesThePlaceOfThePublishers() throws {
        let own = try Resolution(accuracy: .low, desiredInterval: .seconds(20), minimumDisplacement: 7)
        var talk = try PublisherConversation.online(try PublisherConversation.van { $0.ceiling = own })
        _ = self.coarsest(&talk)
        #expect(talk.subscriber("w1").contains("sensor LOW/20000/7"))
        _ = talk.wait(.seconds(2))
        let van = try PublisherConversation.van()
        #expect(talk.happened(.change(van)).contains("sensor MINIMUM/600000/1000"))
        _ = talk.wait(.seconds(2))
        var configuration = talk.machine.configuration
        configuration.ceiling = own
        #expect(talk.happened(.configure(configuration)).contains("sensor LOW/20000/7"))
    }

    @Test func whereNothingIsConfiguredNoRequestIsFinerThanTwoPositionsASecond() throws {
        var talk = try PublisherConversation.online()
        _ = talk.request("w1", interval: 0)
        #expect(talk.subscriber("w1").contains("sensor HIGH/500/0"))
    }

    @Test func aRequestOfManyBytesIsRefused() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        let payload =
            #"{"session":"s","resolution":{"accuracy":"HIGH","desiredInterval":900,"minimumDisplacement":0},"x":""#
        let long = payload + String(repeating: "x", count: RequestLimiter.maximumBytes) + "\"}"
        #expect(talk.receive("tracking/van/request/w1", long) == ["bad message on tracking/van/request/w1"])
    }

    // MARK: - Damping

    @Test func theFirstChangeAfterAQuietSecondIsImmediateAndTheLatestOfTheOthersWins() throws {
        var talk = try PublisherConversation.online()
        _ = talk.request("w1", interval: 700)
        #expect(self.resolutions(talk.subscriber("w1")) == ["van/resolution: HIGH/700/0 ONLINE subscribers 1"])
        for interval in [800, 900, 1_000] {
            talk.now = talk.now.advanced(by: .milliseconds(100))
            let said = talk.request("w1", interval: interval)
            #expect(!said.contains { $0.hasPrefix("sensor") } && self.resolutions(said).isEmpty)
        }
        #expect(self.resolutions(talk.wait(.milliseconds(699))).isEmpty)
        let said = talk.wait(.milliseconds(1))
        #expect(said.filter { $0.hasPrefix("sensor") } == ["sensor HIGH/1000/0"])
        #expect(self.resolutions(said) == ["van/resolution: HIGH/1000/0 ONLINE subscribers 1"])
        #expect(try talk.fix(at: 1).contains { $0.hasPrefix("fix 2") })
    }

    @Test func subscribersAndNearAreDampedToo() throws {
        let here = try #require(Coordinate(latitude: 0, longitude: 0))
        var talk = try PublisherConversation.online()
        #expect(self.resolutions(talk.subscriber("w1")).count == 1)
        var said = (2...20).flatMap { talk.subscriber("w\($0)") }
        let constraints = try ResolutionConstraints(
            resolutions: ResolutionSet(all: .standard), proximityThreshold: ProximityThreshold(spatial: 200_000))
        said += talk.happened(
            .change(
                try PublisherConversation.van {
                    $0.destination = here
                    $0.constraints = constraints
                }))
        said += talk.happened(.battery(5))
        #expect(self.resolutions(said).isEmpty)
        #expect(
            Set(self.resolutions(talk.wait(.seconds(1)))) == [
                "van/resolution: BALANCED/30000/0 ONLINE subscribers 20 near"
            ])
    }

    @Test func theFirstResolutionOfAConnectionIsNotDelayed() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        for connection in 1...5 {
            _ = talk.lose()
            _ = talk.connect(connection)
            #expect(self.resolutions(talk.granted()) == ["van/resolution: BALANCED/10000/0 PUBLISHING subscribers 1"])
        }
    }

    @Test func aChangeOfThePublishersStateIsNotDelayed() throws {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        _ = talk.connect(1)
        #expect(self.resolutions(talk.granted()) == ["van/resolution: BALANCED/10000/0 PUBLISHING subscribers 0"])
        let said = talk.echoed() + talk.acked()
        #expect(self.resolutions(said) == ["van/resolution: BALANCED/10000/0 ONLINE subscribers 0"])
    }

    @Test func aTrackableThatIsAddedIsNotDelayed() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        _ = talk.happened(.remove(try TrackableID("van")))
        _ = talk.happened(.add(try PublisherConversation.van()))
        #expect(self.resolutions(talk.granted()).count == 1)
        _ = talk.subscriber("w1")
        #expect(talk.request("w1", interval: 600).contains("sensor HIGH/600/0"))
    }

    @Test(arguments: [1, 50]) func aFloodOfRequestsChangesTheResolutionOnceASecond(clients: Int) throws {
        var talk = try PublisherConversation.online()
        for number in 1...clients { _ = talk.subscriber("w\(number)") }
        _ = talk.wait(.seconds(3)) + talk.acked()
        var sensor: [MonotonicTime] = []
        var wire: [MonotonicTime] = []
        let start = talk.now
        for number in 0..<20_000 {
            talk.now = talk.now.advanced(by: .microseconds(500))
            let said = talk.request("w\(number % clients + 1)", interval: 600 + number % 9_000)
            if said.contains(where: { $0.hasPrefix("sensor") }) { sensor.append(talk.now) }
            if said.contains(where: { $0.hasPrefix("van/resolution") }) { wire.append(talk.now) }
        }
        #expect(start.duration(to: talk.now) == .seconds(10))
        for times in [sensor, wire] {
            #expect((8...11).contains(times.count), "\(times.count)")
            for (before, after) in zip(times, times.dropFirst()) { #expect(before.duration(to: after) >= .seconds(1)) }
        }
        #expect(talk.machine.requestLimits.count == clients)
        // The last request of all is the one that is in force in the end.
        let id = try TrackableID("van")
        _ = talk.wait(.seconds(3))
        let last = 600 + 19_999 % 9_000
        #expect(talk.machine.table[id]?.resolution.funnel.conditions.requests.count == clients)
        if clients == 1 {
            #expect(talk.machine.table[id]?.resolution.damper.current.desiredInterval == .milliseconds(last))
            #expect(try self.inForce(talk).resolution.desiredInterval == .milliseconds(last))
        }
        #expect(talk.machine.nextDeadline ?? talk.now > talk.now)
    }

    @Test func aClientThatChangesItsSessionAllTheTimeIsRememberedAFewTimes() throws {
        var talk = try PublisherConversation.online()
        for number in 0..<500 {
            talk.now = talk.now.advanced(by: .milliseconds(200))
            _ = talk.subscriber("w1", "s\(number)")
            _ = talk.request("w1", "s\(number)", interval: 600 + number)
            let id = try TrackableID("van")
            #expect(talk.machine.table[id]?.resolution.funnel.subscribers.count ?? 0 <= 4)
            #expect(talk.machine.table[id]?.requests.byClient[try ClientID("w1")]?.count ?? 0 <= 5)
        }
    }
}
