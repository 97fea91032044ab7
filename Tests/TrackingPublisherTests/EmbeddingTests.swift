import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingPublisher

/// Guarantees for a program that embeds the publisher: no value ends the program, no call hangs, and every error is
/// reported.
@Suite(.timeLimit(.minutes(5))) struct EmbeddingTests {
    private func publisher(
        _ broker: InMemoryBroker = InMemoryBroker(), spool: any SpoolStorage = InMemorySpool()
    ) throws -> AssetPublisher<InMemoryBroker.Client> {
        let client = try ClientID("d1")
        let session = try #require(SessionID("mine"))
        return AssetPublisher(
            configuration: PublisherConfiguration(client: client, session: session), transport: broker.client(client),
            spool: spool)
    }

    private func fix(_ time: Double = 1_790_000_000) throws -> Location {
        Location(coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(time))
    }

    // MARK: - Times

    @Test(arguments: [1.79e12, 1.79e18, -1e300, .infinity, .nan])
    func aFixWithATimeOutsideTheWireLimitsIsRejected(_ time: Double) throws {
        var talk = try PublisherConversation.online()
        let bad = try self.fix(time)
        #expect(talk.happened(.fix(bad, raw: bad)) == ["fix refused (invalidPayload)"])
        #expect(try talk.fix(at: 20).contains("van: update 2"))
    }

    @Test(arguments: [1.79e18, .infinity, .nan]) func ofAFixAloneTheRawOneMayHaveNoTime(_ time: Double) throws {
        var talk = try PublisherConversation([try PublisherConversation.van()]) { $0.sendsRawLocations = true }
        let said = talk.happened(.fix(try self.fix(1000), raw: try self.fix(time)))
        #expect(said.contains("fix 1 first"))
        _ = talk.connect(0)
        let sent = talk.granted()
        #expect(sent.contains("van: update 1") && !sent.contains { $0.hasPrefix("van/raw") })
    }

    @Test func anIDOfATripThatReadersRefuseIsLeftOut() throws {
        var talk = try PublisherConversation.online()
        var bad = try self.fix(1001)
        bad.tripID = "a\u{1B}[2J"
        let said = talk.happened(.fix(bad, raw: bad))
        #expect(said.contains("extra left out (invalidPayload)") && said.contains("fix 2 tooSoon"), "\(said)")
        let next = try talk.fix(at: 40)
        #expect(next.contains { $0.hasPrefix("van: update 3") } && !next.contains { $0.hasPrefix("bad") }, "\(next)")
    }

    @Test func anEventWithTooLargeADetailIsRefused() throws {
        let publisher = try self.publisher()
        let detail = ["text": TrackingEvent.DetailValue.text(String(repeating: "x", count: 17_000))]
        let error = #expect(throws: TrackingError.self) { try publisher.recordEvent(.sourceLost, detail) }
        #expect(error?.code == .payloadTooLarge && error?.message.contains("SOURCE_LOST") == true)
    }

    /// A fix that is skipped is added to the next update, which must still be sent.
    @Test(arguments: ["", "[1]", "{\"a\":", "{\"a\":\"…\"}"])
    func anExtraThatReadersDoNotTakeIsLeftOut(_ extra: String) throws {
        var talk = try PublisherConversation.online()
        var bad = try self.fix(1001)
        bad.extra = Array(extra.replacing("…", with: String(repeating: "x", count: 4090)).utf8)
        let said = talk.happened(.fix(bad, raw: bad))
        #expect(said.contains("extra left out (invalidPayload)") && said.contains("fix 2 tooSoon"), "\(said)")
        let next = try talk.fix(at: 40)
        #expect(next.contains { $0.hasPrefix("van: update 3") } && !next.contains { $0.hasPrefix("bad") }, "\(next)")
    }

    @Test func rejectedFixesAreCounted() async throws {
        let publisher = try self.publisher()
        publisher.add(Trackable(try TrackableID("van")))
        let captures = publisher.fixes
        async let running: Void = publisher.run()
        publisher.publish(try self.fix(1_790_000_000_000))
        await publisher.publishAndWait(try self.fix())
        #expect(publisher.refusedFixes == 1)
        publisher.finish()
        try await running
        var seqs: [UInt64?] = []
        for await capture in captures { seqs.append(capture.fix.seq) }
        #expect(seqs == [1])
    }

    @Test(arguments: [0, -1, 1e-300, .infinity, .nan]) func noPaceEndsTheProgram(_ factor: Double) {
        var pacer = ReplayPacer(pace: .times(factor))
        let start = MonotonicTime(.zero)
        for time in [0, 1, 1e300, .infinity, .nan, -1e300, 5] {
            _ = pacer.due(UnixTime(time), now: start)
            _ = pacer.isWanted(UnixTime(time), under: .standard)
        }
    }

    // MARK: - Ends

    @Test func aLogThatCannotBeOpenedEndsEverything() async throws {
        let spool = FailingSpool()
        spool.fail(.open, with: TrackingError(.spoolFailed, "the disk is gone"))
        let publisher = try self.publisher(spool: spool)
        let van = try TrackableID("van")
        let (states, fixes, fix) = (publisher.states, publisher.fixes, try self.fix())
        publisher.add(Trackable(van))
        async let early = publisher.logFigures()
        async let waiting: Void = publisher.publishAndWait(fix)
        let error = await #expect(throws: TrackingError.self) { try await publisher.run() }
        #expect(error?.code == .spoolFailed)
        for await _ in states {}
        for await _ in fixes {}
        await waiting
        #expect(await early.failure?.code == .stopped)
        await publisher.publishAndWait(fix)
        #expect(await publisher.logFigures().failure?.code == .stopped)
        #expect(await publisher.snapshot() == nil)
        let late = await #expect(throws: TrackingError.self) {
            try await publisher.startTrip(try TripMode("car"), of: van)
        }
        #expect(late?.code == .stopped)
    }

    @Test func aCancelledWaitEnds() async throws {
        // The publisher does not run, so it never answers.
        let publisher = try self.publisher()
        let (van, fix, car) = (try TrackableID("van"), try self.fix(), try TripMode("car"))
        let codes = await withTaskGroup(of: TrackingError.Code?.self) { group in
            group.addTask {
                await publisher.publishAndWait(fix)
                return nil
            }
            group.addTask {
                do throws(TrackingError) { _ = try await publisher.startTrip(car, of: van) } catch { return error.code }
                return nil
            }
            group.addTask {
                do throws(TrackingError) { _ = try await publisher.sendNow() } catch { return error.code }
                return nil
            }
            group.cancelAll()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.compactMap { $0 } == [.stopped, .stopped])
    }

    @Test func whoWantsSomethingSentHasTheConnectionTriedAtOnce() throws {
        for event in [.stop(by: nil), .asked(.sendNow, request: 1), .asked(.flush, request: 1)]
            as [PublisherStateMachine.Event]
        {
            var talk = try PublisherConversation.online()
            _ = talk.lose()
            _ = try talk.fix(at: 20)
            #expect(talk.happened(event).contains("try now"), "\(event)")
            talk = try PublisherConversation.online()
            #expect(!talk.happened(event).contains("try now"), "\(event)")
        }
    }

    @Test func aRefusalIsTheEndingsReasonWithALimitAsWellWhereSomethingWasNotSent() throws {
        for isSent in [true, false] {
            var talk = try PublisherConversation.online()
            _ = talk.lose()
            if !isSent { _ = try talk.fix(at: 20) }
            _ = talk.happened(.stop(by: talk.now.advanced(by: .seconds(5))))
            _ = talk.turnedAway(retry: .seconds(60))
            #expect(talk.wait(.seconds(5)).contains("given up van (badCredentials)") == !isSent)
        }
    }

    // MARK: - States

    @Test func anAddedTrackableIsOfflineAtOnceAndEachReasonIsDelivered() throws {
        var talk = try PublisherConversation()
        #expect(talk.happened(.add(try PublisherConversation.van())).contains("van is OFFLINE"))
        #expect(talk.turnedAway().contains("van is OFFLINE (badCredentials)"))
        #expect(!talk.turnedAway().contains { $0.hasPrefix("van is") })
        #expect(talk.lose().contains("van is OFFLINE (connectionLost)"))
        _ = talk.turnedAway()
        let bus = Trackable(try TrackableID("bus"))
        #expect(talk.happened(.add(bus)).contains("bus is OFFLINE (badCredentials)"))
    }

    // MARK: - Configurations

    @Test func aValueOutOfRangeCountsAsTheNearest() throws {
        var configuration = PublisherConfiguration(
            client: try ClientID("d1"), session: try #require(SessionID("mine")))
        configuration.recording.batchSize = 0
        configuration.recording.batchWindow = .seconds(-1)
        #expect(configuration.recording.batchSize == 1 && configuration.recording.batchWindow == .zero)
        for (lease, counts) in [(0, 1), (-5, 1), (100_000, 86_400)] {
            let session = SessionStateMachine(
                client: configuration.client, session: configuration.session, lease: .seconds(lease))
            #expect(session.lease == .seconds(counts))
        }
    }
}
