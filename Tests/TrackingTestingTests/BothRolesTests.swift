import Testing
import TrackingCore
import TrackingPublisher
import TrackingSubscriber
import TrackingTesting

/// A publisher and subscribers on the broker in memory. Every wait ends with its event or the time limit of the test.
@Suite struct BothRolesTests {
    private let van: TrackableID
    private let calm: Resolution
    private let eager: Resolution

    init() throws {
        self.van = try TrackableID("van")
        self.calm = try Resolution(accuracy: .low, desiredInterval: .seconds(30), minimumDisplacement: 0)
        self.eager = try Resolution(accuracy: .high, desiredInterval: .milliseconds(500), minimumDisplacement: 0)
    }

    private typealias Publisher = AssetPublisher<InMemoryBroker.Client>
    private typealias Subscriber = AssetSubscriber<InMemoryBroker.Client>

    private func client(
        _ name: String, on broker: InMemoryBroker
    ) throws -> (ClientID, SessionID, InMemoryBroker.Client) {
        let client = try ClientID(name)
        let session = try #require(SessionID("session-of-\(name)"))
        let will: @Sendable (Int) -> OutgoingMessage = { connection in
            OutgoingMessage(
                topic: "tracking/_clients/\(name)",
                payload: MessageCodec.encode(SessionStateMachine.goodbye(session: session, connection: connection)),
                isRetained: true)
        }
        return (client, session, broker.client(client, will: will))
    }

    private func publisher(_ name: String, on broker: InMemoryBroker) throws -> Publisher {
        let (client, session, transport) = try self.client(name, on: broker)
        var configuration = PublisherConfiguration(client: client, session: session)
        configuration.defaultResolution = self.calm
        let publisher = AssetPublisher(configuration: configuration, transport: transport)
        publisher.track(Trackable(self.van))
        return publisher
    }

    private func subscriber(_ name: String, on broker: InMemoryBroker) throws -> Subscriber {
        let (client, session, transport) = try self.client(name, on: broker)
        return AssetSubscriber(
            configuration: SubscriberConfiguration(client: client, session: session), transport: transport)
    }

    private func fix(_ second: Double) throws -> Location {
        Location(
            coordinate: try #require(Coordinate(latitude: 52.6, longitude: -8.6)),
            time: UnixTime(1_550_000_000 + second))
    }

    /// The current positions that are delivered from now on.
    private func seqs(_ subscriber: Subscriber) -> some AsyncSequence<UInt64, Never> & Sendable {
        subscriber.locations(of: self.van).filter { !$0.isLate }.compactMap { $0.update.location.seq }
    }

    private func reaches(_ seq: UInt64, _ seqs: some AsyncSequence<UInt64, Never> & Sendable) async {
        for await next in seqs where next >= seq { return }
        Issue.record("the positions ended before \(seq)")
    }

    private func reaches(_ resolution: Resolution, _ subscriber: AsyncStream<Resolution>) async {
        for await next in subscriber where next == resolution { return }
        Issue.record("the sensor was never asked for \(resolution)")
    }

    private func reaches<State: Equatable & Sendable>(
        _ state: State, _ states: some AsyncSequence<State, Never> & Sendable
    ) async {
        for await next in states where next == state { return }
        Issue.record("never \(state)")
    }

    @Test(.timeLimit(.minutes(5))) func theResolutionFollowsTheWatcher() async throws {
        let broker = InMemoryBroker()
        let publisher = try self.publisher("d1", on: broker)
        let subscriber = try self.subscriber("w1", on: broker)
        let sensor = publisher.sensorResolutions
        let seqs = self.seqs(subscriber)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            await self.reaches(self.calm, sensor)
            await publisher.publishAndWait(try self.fix(0))
            group.addTask { try await subscriber.run() }
            subscriber.watch(self.van, requesting: self.eager)
            await self.reaches(1, seqs)
            await self.reaches(self.eager, sensor)
            subscriber.request(nil, for: self.van)
            await self.reaches(self.calm, sensor)
            subscriber.request(self.eager, for: self.van)
            await self.reaches(self.eager, sensor)
            // A subscriber that leaves in order disappears at once.
            subscriber.finish()
            await self.reaches(self.calm, sensor)
            publisher.finish()
            try await group.waitForAll()
        }
        #expect(broker.retained("tracking/van/request/w1") == nil)
        #expect(broker.retained("tracking/van/subscriber/w1") == nil)
        #expect(broker.retained("tracking/van/publisher/d1") == nil)
        #expect(broker.retained("tracking/van") != nil)
    }

    @Test(.timeLimit(.minutes(5))) func aWatcherThatDiesCountsForTwoMoreSeconds() async throws {
        let broker = InMemoryBroker()
        let publisher = try self.publisher("d1", on: broker)
        let subscriber = try self.subscriber("w1", on: broker)
        let sensor = publisher.sensorResolutions
        let clock = ContinuousClock()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            let watching = Task { try await subscriber.run() }
            subscriber.watch(self.van, requesting: self.eager)
            await self.reaches(self.eager, sensor)
            // The subscriber disappears without a goodbye, and the broker publishes its will.
            let start = clock.now
            watching.cancel()
            _ = await watching.result
            let (_, session, speaker) = try self.client("w1", on: broker)
            let will = Liveness(status: .offline, session: session, connection: 0)
            group.addTask { await speaker.run() }
            for await events in speaker.events {
                if case .connected? = events.first { break }
            }
            let message = OutgoingMessage(
                topic: "tracking/_clients/w1", payload: MessageCodec.encode(will), isRetained: true)
            speaker.send([.publish(message, 1), .close(within: .zero)])
            await self.reaches(self.calm, sensor)
            #expect(clock.now - start >= .milliseconds(1_900))
            publisher.finish()
            try await group.waitForAll()
        }
    }

    /// Without a publisher or a subscription, no update is due, so none is overdue.
    @Test(.timeLimit(.minutes(5))) func withoutAPublisherNoUpdateIsExpected() async throws {
        let broker = InMemoryBroker()
        let (client, session, speaker) = try self.client("d1", on: broker)
        let stream = try #require(StreamID("s"))
        let subscriber = try self.subscriber("w1", on: broker)
        let (states, seqs) = (subscriber.states(of: self.van), self.seqs(subscriber))
        func publish(_ topic: String, _ payload: [UInt8]) {
            speaker.send([.publish(OutgoingMessage(topic: topic, payload: payload, isRetained: true), 1)])
        }
        func live(_ status: Liveness.Status, _ connection: Int) {
            let liveness = Liveness(status: status, session: session, connection: connection)
            publish("tracking/_clients/d1", MessageCodec.encode(liveness))
        }
        func move(_ seq: UInt64) throws {
            var fix = try self.fix(Double(seq))
            (fix.seq, fix.stream) = (seq, stream)
            publish("tracking/van", try LocationCodec.encode(LocationUpdate(location: fix, skipped: [])))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await speaker.run() }
            for await events in speaker.events {
                if case .connected? = events.first { break }
            }
            let presence = Presence(
                kind: .publisher, session: session, connection: 0, lease: .seconds(90), since: UnixTime(1),
                stream: stream, rawLocations: false)
            publish("tracking/van/publisher/\(client)", MessageCodec.encode(presence))
            let inForce = ResolutionInForce(
                resolution: self.calm, isNear: false, subscribers: 1, isLowBattery: false, state: .online,
                filter: .both, maximumSilence: .seconds(60))
            publish("tracking/van/resolution", MessageCodec.encode(inForce))
            live(.online(lease: .seconds(90)), 0)
            group.addTask { try await subscriber.run() }
            subscriber.watch(self.van)
            await self.reaches(.online, states)
            try move(1)
            await self.reaches(1, seqs)
            #expect(subscriber.untilNextExpected(self.van) != nil)

            // The will: the publisher's retained messages are not cleared.
            live(.offline, 0)
            await self.reaches(.offline, states)
            #expect(subscriber.untilNextExpected(self.van) == nil)

            live(.online(lease: .seconds(90)), 1)
            await self.reaches(.online, states)
            try move(2)
            await self.reaches(2, seqs)
            #expect(subscriber.untilNextExpected(self.van) != nil)
            subscriber.unwatch(self.van)
            while subscriber.untilNextExpected(self.van) != nil { try await Task.sleep(for: .milliseconds(5)) }
            subscriber.finish()
            speaker.send([.close(within: .zero)])
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(5))) func cutConnectionsComeBackByThemselves() async throws {
        let broker = InMemoryBroker()
        let publisher = try self.publisher("d1", on: broker)
        let subscriber = try self.subscriber("w1", on: broker)
        let seqs = self.seqs(subscriber)
        let published = publisher.states.map(\.state)
        let watched = subscriber.states(of: self.van)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            group.addTask { try await subscriber.run() }
            subscriber.watch(self.van, requesting: self.eager)
            await publisher.publishAndWait(try self.fix(0))
            await self.reaches(.online, published)
            await self.reaches(.online, watched)
            await self.reaches(1, seqs)

            broker.disconnect(try ClientID("d1"))
            await self.reaches(.offline, published)
            await self.reaches(.online, published)
            await publisher.publishAndWait(try self.fix(60))
            await self.reaches(2, seqs)

            broker.disconnect(try ClientID("w1"))
            await self.reaches(.offline, watched)
            await self.reaches(.online, watched)
            await publisher.publishAndWait(try self.fix(120))
            await self.reaches(3, seqs)
            publisher.finish()
            subscriber.finish()
            try await group.waitForAll()
        }
    }

    /// The later publisher owns the trackable, even if its clock is behind that of the earlier publisher.
    @Test(.timeLimit(.minutes(5))) func aPublisherReadsTheOwnerBeforeItTakesOver() async throws {
        let broker = InMemoryBroker()
        let elder = try ClientID("d0")
        let ahead = Presence(
            kind: .publisher, session: try #require(SessionID("elder")), connection: 0, lease: .seconds(90),
            since: UnixTime(4_000_000_000), stream: StreamID("s"), rawLocations: false)
        let alive = Liveness(status: .online(lease: .seconds(90)), session: ahead.session, connection: 0)
        let publisher = try self.publisher("d1", on: broker)
        let states = publisher.states.map(\.state)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let speaker = broker.client(elder)
            group.addTask { await speaker.run() }
            for await events in speaker.events {
                if case .connected? = events.first { break }
            }
            speaker.send([
                .publish(
                    OutgoingMessage(
                        topic: "tracking/_clients/d0", payload: MessageCodec.encode(alive), isRetained: true), 1),
                .publish(
                    OutgoingMessage(
                        topic: "tracking/van/publisher/d0", payload: MessageCodec.encode(ahead), isRetained: true), 2),
            ])
            group.addTask { try await publisher.run() }
            publisher.publish(try self.fix(0))
            for await state in states {
                #expect(state != .failed)
                if state == .online || state == .failed { break }
            }
            let bytes = try #require(broker.retained("tracking/van/publisher/d1"))
            #expect(try MessageCodec.decodePresence(bytes[...]).since > ahead.since)
            publisher.finish()
            speaker.send([.close(within: .zero)])
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(5))) func retainedMessagesArePublishedAgainAfterTheBrokerLostThem() async throws {
        let broker = InMemoryBroker()
        let publisher = try self.publisher("d1", on: broker)
        let first = try self.subscriber("w1", on: broker)
        let late = try self.subscriber("w2", on: broker)
        let sensor = publisher.sensorResolutions
        let seqs = self.seqs(first)
        let lateSeqs = self.seqs(late)
        let lateStates = late.states(of: self.van)
        let lateResolutions = late.resolutions(of: self.van)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            group.addTask { try await first.run() }
            first.watch(self.van, requesting: self.eager)
            await publisher.publishAndWait(try self.fix(0))
            await self.reaches(1, seqs)
            await self.reaches(self.eager, sensor)

            // A subscriber that connects now finds no retained message, and receives a message within a second
            // because it became present.
            broker.forgetRetained()
            group.addTask { try await late.run() }
            late.watch(self.van)
            await self.reaches(.online, lateStates)
            await self.reaches(1, lateSeqs)
            #expect(broker.retained("tracking/van/publisher/d1") != nil)
            // Published at most once a second.
            for await inForce in lateResolutions where inForce.subscribers == 2 { break }
            #expect(broker.retained("tracking/van/resolution") != nil)
            first.finish()
            await self.reaches(self.calm, sensor)
            late.finish()
            publisher.finish()
            try await group.waitForAll()
        }
    }
}
