import Testing
import TrackingCore
import TrackingPublisher
import TrackingSubscriber
import TrackingTesting

/// A publisher that reads its sources, and a subscriber that runs by itself, on the broker in memory.
@Suite(.timeLimit(.minutes(5))) struct RunningTests {
    /// A source whose run is a closure.
    private struct Script: LocationSource {
        let facts = SourceFacts(name: "script", kind: .gps, isFinite: true, isLive: false)
        let body: @Sendable (SourceEvent.Delivery) async throws(TrackingError) -> Void

        func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) { try await self.body(deliver) }
        func use(_ resolution: Resolution) async {}
    }

    private func publisher(on broker: InMemoryBroker) throws -> AssetPublisher<InMemoryBroker.Client> {
        let client = try ClientID("van-7-box")
        let publisher = AssetPublisher(
            configuration: PublisherConfiguration(client: client, session: try #require(SessionID("p"))),
            transport: broker.client(client))
        publisher.track("van-7")
        return publisher
    }

    private func subscriber(
        on broker: InMemoryBroker, preferring kind: PositionKind = .published
    ) throws -> AssetSubscriber<InMemoryBroker.Client> {
        let client = try ClientID("desk")
        var configuration = SubscriberConfiguration(client: client, session: try #require(SessionID("s")))
        configuration.prefers = kind
        return AssetSubscriber(configuration: configuration, transport: broker.client(client))
    }

    private static func fix(_ second: Double) throws -> Location {
        Location(
            coordinate: try #require(Coordinate(latitude: 52.6, longitude: -8.6)),
            time: UnixTime(1_550_000_000 + second))
    }

    // MARK: - Publisher

    @Test func theRunEndsWithItsSource() async throws {
        let publisher = try self.publisher(on: InMemoryBroker())
        let captures = publisher.fixes
        let fixes = try (1...3).map { try Self.fix(Double($0)) }
        try await publisher.run(
            reading: Script { deliver in for fix in fixes { await deliver(.fix(fix)) } }, battery: .system)
        var seqs: [UInt64?] = []
        for await capture in captures { seqs.append(capture.fix.seq) }
        #expect(seqs == [1, 2, 3])
    }

    @Test func theBatteryIsRead() async throws {
        let publisher = try self.publisher(on: InMemoryBroker())
        let source = Script { _ in
            // The source ends when the charge has reached the publisher.
            while await publisher.snapshot()?.battery != 40 { try? await Task.sleep(for: .milliseconds(10)) }
        }
        try await publisher.run(reading: source, battery: FixedBattery(percent: 40))
    }

    @Test func theErrorOfARecordingEndsTheRun() async throws {
        let publisher = try self.publisher(on: InMemoryBroker())
        let source = Script { _ throws(TrackingError) in throw TrackingError(.inputUnreadable, "the file is gone") }
        let error = await #expect(throws: TrackingError.self) {
            try await publisher.run(reading: source, battery: .system)
        }
        #expect(error?.code == .inputUnreadable && error?.message == "the file is gone")
    }

    @Test func aRunWithoutASourceIsRejected() async throws {
        let publisher = try self.publisher(on: InMemoryBroker())
        let error = await #expect(throws: TrackingError.self) {
            try await publisher.run(reading: [], battery: nil)
        }
        #expect(error?.code == .invalidConfiguration)
    }

    // MARK: - Subscriber

    @Test func aStreamRunsTheSubscriberAndWithdrawsItsRequestAtTheEnd() async throws {
        let broker = InMemoryBroker()
        let (publisher, desk) = (try self.publisher(on: broker), try self.subscriber(on: broker))
        let fix = try Self.fix(1)
        let sensor = publisher.sensorResolutions
        async let running: Void = publisher.run()
        publisher.publish(fix)
        let fine = Resolution.high(every: .seconds(1))
        let other = desk.locations(of: "van-7", requesting: .balanced(every: .seconds(10)))
        for await update in desk.locations(of: "van-7", requesting: fine) {
            #expect(update.coordinate == fix.coordinate)
            break
        }
        for await resolution in sensor where resolution == fine { break }
        // The other stream still watches. The end of both withdraws the request.
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in other {} }
            group.cancelAll()
        }
        for await resolution in sensor where resolution == .standard { break }
        desk.finish()
        publisher.finish()
        try await running
    }

    /// Plays an enhancer: publishes an enhanced update for each update of van-7.
    private func enhance(as enhancer: InMemoryBroker.Client) async {
        async let running: Void = enhancer.run()
        for await events in enhancer.events {
            for event in events {
                switch event {
                case .connected: enhancer.send([.subscribe(["tracking/van-7"], 1)])
                case .received(let message):
                    guard var update = try? LocationCodec.decode(message.payload) else { continue }
                    update.enhancement = Enhancement(confidence: .matched, road: "Main Street")
                    guard let payload = try? LocationCodec.encode(update) else { continue }
                    let enhanced = OutgoingMessage(topic: "tracking/van-7/enhanced", payload: payload, isRetained: true)
                    enhancer.send([.publish(enhanced, 2)])
                case .disconnected, .published, .subscribed: break
                }
            }
        }
        await running
    }

    @Test func aStreamPrefersEnhancedPositions() async throws {
        let broker = InMemoryBroker()
        let (publisher, desk) = (try self.publisher(on: broker), try self.subscriber(on: broker))
        let enhancer = broker.client(try ClientID("enhancer"))
        let fix = try Self.fix(1)
        async let running: Void = publisher.run()
        async let enhancing: Void = self.enhance(as: enhancer)
        publisher.publish(fix)
        let updates = desk.locations(of: "van-7", preferring: .enhanced, requesting: .high(every: .seconds(1)))
        for await update in updates where update.update.enhancement?.road == "Main Street" {
            #expect(update.coordinate == fix.coordinate)
            break
        }
        desk.finish()
        publisher.finish()
        enhancer.send([.close(within: .zero)])
        try await running
        await enhancing
    }

    /// The gateway's rules evaluate positions as publishers publish them, whatever the map shows.
    @Test func aReaderOfPublishedPositionsReceivesNoEnhancedOnes() async throws {
        let broker = InMemoryBroker()
        let (publisher, desk) = (try self.publisher(on: broker), try self.subscriber(on: broker, preferring: .enhanced))
        let enhancer = broker.client(try ClientID("enhancer"))
        let (events, published) = (desk.events, desk.everyPublishedEvent)
        async let running: Void = publisher.run()
        async let enhancing: Void = self.enhance(as: enhancer)
        async let watching: Void = desk.run()
        desk.watch(try TrackableID("van-7"))
        publisher.publish(try Self.fix(1))
        for await case .location(_, let update) in events where update.update.enhancement != nil { break }
        desk.finish()
        var positions: [Enhancement?] = []
        for await case .location(_, let update) in published { positions.append(update.update.enhancement) }
        #expect(positions == [nil])
        publisher.finish()
        enhancer.send([.close(within: .zero)])
        try await running
        try await watching
        await enhancing
    }

    @Test func aSubscriberRunsOnce() async throws {
        let desk = try self.subscriber(on: InMemoryBroker())
        let updates = desk.locations(of: "van-7", requesting: .high(every: .seconds(1)))
        let error = await #expect(throws: TrackingError.self) { try await desk.run() }
        #expect(error?.code == .invalidConfiguration)
        desk.finish()
        for await _ in updates {}
    }
}
