import Testing
import TrackingCore
import TrackingPublisher
import TrackingTesting

/// Replacements of Godwit's parts that users of the SDK can write with the public interface alone.
@Suite struct PluggableTests {
    /// A policy that divides an interval of a minute by the number of subscribers plus one.
    private struct Crowd: ResolutionPolicy {
        func resolution(for conditions: TrackingConditions) -> Resolution {
            let interval = Duration.seconds(60 / (conditions.subscribers + 1))
            let resolution = try? Resolution(accuracy: .low, desiredInterval: interval, minimumDisplacement: 0)
            return resolution ?? conditions.default
        }
    }

    /// Delivers as many positions as the requested interval has milliseconds, and then ends.
    private final class Countdown: LocationSource {
        let facts = SourceFacts(name: "countdown", kind: .simulated, isFinite: true, isLive: false, accuracy: .low)
        private let wanted: AsyncStream<Resolution>
        private let wish: AsyncStream<Resolution>.Continuation

        init() { (self.wanted, self.wish) = AsyncStream.makeStream(of: Resolution.self) }

        func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
            for await resolution in self.wanted {
                guard let coordinate = Coordinate(latitude: 1, longitude: 2) else { return }
                for second in 0..<resolution.desiredInterval.components.seconds {
                    await deliver(.fix(Location(coordinate: coordinate, time: UnixTime(Double(second)))))
                }
                return
            }
        }

        func use(_ resolution: Resolution) async { self.wish.yield(resolution) }
    }

    /// A battery that is empty after two readings.
    private struct Draining: BatterySource {
        func run(deliver: @escaping BatteryEvent.Delivery) async {
            for percent in [50.0, 5] { await deliver(.level(percent)) }
        }
    }

    private func configuration() throws -> PublisherConfiguration {
        PublisherConfiguration(client: try ClientID("d1"), session: try #require(SessionID("mine")))
    }

    private func presence(_ session: String) throws -> [UInt8] {
        MessageCodec.encode(
            Presence(
                kind: .subscriber, session: try #require(SessionID(session)), connection: 0, lease: .seconds(90),
                since: UnixTime(1)))
    }

    @Test(.timeLimit(.minutes(5))) func aCustomPolicyDecides() async throws {
        let broker = InMemoryBroker()
        let configuration = try self.configuration()
        let transport = broker.client(configuration.client) { configuration.will(connection: $0) }
        let publisher = AssetPublisher(configuration: configuration, transport: transport, policy: Crowd())
        let sensor = publisher.sensorResolutions
        let states = publisher.states
        publisher.add(Trackable(try TrackableID("van")))
        let crowd = broker.client(try ClientID("crowd"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            group.addTask { await crowd.run() }
            for await events in crowd.events {
                if case .connected? = events.first { break }
            }
            var intervals = sensor.map(\.desiredInterval).makeAsyncIterator()
            #expect(await intervals.next() == .seconds(60))
            // The publisher is subscribed now: a retained presence alone would need a liveness as well.
            for await change in states where change.state == .publishing { break }
            for (name, interval) in [("w1", 30), ("w2", 20)] {
                let message = OutgoingMessage(
                    topic: "tracking/van/subscriber/\(name)", payload: try self.presence(name), isRetained: true)
                crowd.send([.publish(message, 1)])
                #expect(await intervals.next() == .seconds(interval))
            }
            crowd.send([.close(within: .zero)])
            publisher.finish()
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(5))) func aCustomSourceIsRunAndGetsTheResolution() async throws {
        let broker = InMemoryBroker()
        let configuration = try self.configuration()
        let publisher = AssetPublisher(configuration: configuration, transport: broker.client(configuration.client))
        let resolutions = publisher.sensorResolutions
        publisher.add(Trackable(try TrackableID("van")))
        let source = SourceRunner([Countdown()])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            group.addTask { for await resolution in resolutions { await source.use(resolution) } }
            try await source.run { event in
                if case .fix(let fix) = event { await publisher.publishAndWait(fix) }
            }
            publisher.finish()
            try await group.waitForAll()
        }
        let last = try LocationCodec.decode(try #require(broker.retained("tracking/van"))[...])
        #expect(last.location.seq == 30)
    }

    @Test(.timeLimit(.minutes(5))) func aCustomBatterySourceStretchesTheInterval() async throws {
        let broker = InMemoryBroker()
        let configuration = try self.configuration()
        let publisher = AssetPublisher(configuration: configuration, transport: broker.client(configuration.client))
        let resolutions = publisher.resolutions
        var van = Trackable(try TrackableID("van"))
        van.constraints = try ResolutionConstraints(
            resolutions: ResolutionSet(all: .standard), batteryLevelThreshold: 20, lowBatteryMultiplier: 2)
        publisher.add(van)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            await Draining().run { event in
                if case .level(let percent) = event { publisher.batteryRead(percent) }
            }
            for await change in resolutions where change.inForce.isLowBattery {
                #expect(change.inForce.resolution.desiredInterval == .seconds(60))
                break
            }
            publisher.finish()
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(5))) func aPublisherThatDiesIsAbsent() async throws {
        let broker = InMemoryBroker()
        let configuration = try self.configuration()
        let transport = broker.client(configuration.client) { configuration.will(connection: $0) }
        let publisher = AssetPublisher(configuration: configuration, transport: transport)
        let states = publisher.states
        publisher.add(Trackable(try TrackableID("van")))
        let coordinate = try #require(Coordinate(latitude: 1, longitude: 2))
        publisher.publish(Location(coordinate: coordinate, time: UnixTime(1_600_000_000)))
        let listener = broker.client(try ClientID("w1"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            group.addTask { await listener.run() }
            listener.send([])
            for await change in states where change.state == .online { break }
            for await events in listener.events {
                if case .connected? = events.first { break }
            }
            listener.send([.subscribe(["tracking/_clients/d1"], 1)])
            broker.disconnect(configuration.client)
            for await events in listener.events {
                let offline = events.contains { event in
                    guard case .received(let message) = event else { return false }
                    return (try? MessageCodec.decodeLiveness(message.payload))?.status == .offline
                }
                if offline { break }
            }
            listener.send([.close(within: .zero)])
            publisher.finish()
            try await group.waitForAll()
        }
    }
}
