import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingSubscriber
import TrackingTesting

/// The publisher and the subscriber with a real broker and connections that fail. Their states follow
/// docs/reference/resolution.md, never become FAILED, and return to ONLINE by themselves.
@Suite(.timeLimit(.minutes(10))) struct RoleFaultTests {
    private typealias Publisher = AssetPublisher<MQTTTransport>
    private typealias Subscriber = AssetSubscriber<MQTTTransport>

    /// A device and a watcher of `van`, each with its own connection to one broker, and their events.
    private final class Scene: Sendable {
        let broker: MosquittoProcess
        let deviceWay: FaultProxy
        let watcherWay: FaultProxy
        let publisher: Publisher
        let subscriber: Subscriber
        let published = EventLog<PublisherState>()
        let watched = EventLog<SubscriberEvent>()
        private let van: TrackableID
        private let fixes = Mutex(0)

        init(answerTimeout: Duration) async throws {
            self.van = try TrackableID("van")
            self.broker = try await MosquittoProcess.start()
            self.deviceWay = try FaultProxy(to: self.broker.port)
            self.watcherWay = try FaultProxy(to: self.broker.port)
            let device = try Self.configuration("device", self.deviceWay, answerTimeout)
            let watcher = try Self.configuration("watcher", self.watcherWay, answerTimeout)
            var publisher = PublisherConfiguration(client: device.mqtt.client, session: device.session)
            publisher.lease = .seconds(2)
            publisher.defaultResolution = try Resolution(
                accuracy: .balanced, desiredInterval: .milliseconds(100), minimumDisplacement: 0)
            var subscriber = SubscriberConfiguration(client: watcher.mqtt.client, session: watcher.session)
            subscriber.lease = .seconds(2)
            self.publisher = Publisher(
                configuration: publisher, transport: try MQTTTransport(configuration: device.mqtt))
            self.subscriber = Subscriber(
                configuration: subscriber, transport: try MQTTTransport(configuration: watcher.mqtt))
        }

        private static func configuration(
            _ name: String, _ way: FaultProxy, _ answerTimeout: Duration
        ) throws -> (mqtt: MQTTConfiguration, session: SessionID) {
            let session = try #require(SessionID("session-of-\(name)"))
            var configuration = MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: way.port)], client: try ClientID(name))
            configuration.answerTimeout = answerTimeout
            configuration.connectTimeout = answerTimeout
            configuration.firstWait = .milliseconds(50)
            configuration.longestWait = .milliseconds(200)
            configuration.will = { connection in
                OutgoingMessage(
                    topic: "tracking/_clients/\(name)",
                    payload: MessageCodec.encode(SessionStateMachine.goodbye(session: session, connection: connection)),
                    isRetained: true)
            }
            return (configuration, session)
        }

        /// Runs both, waits until they are ONLINE and a first position arrives, and stops both in order after `body`.
        func play(_ body: () async throws -> Void) async throws {
            let states = self.publisher.states
            let events = self.subscriber.events
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.publisher.run() }
                group.addTask { try await self.subscriber.run() }
                group.addTask { for await change in states { self.published.append([change.state]) } }
                group.addTask { for await event in events { self.watched.append([event]) } }
                do {
                    self.publisher.track(Trackable(self.van))
                    self.subscriber.watch(self.van)
                    try self.moveOn()
                    try await self.bothOnline(seq: 1)
                    try await body()
                    self.subscriber.finish()
                    self.publisher.finish(within: .seconds(60))
                    try await group.waitForAll()
                } catch {
                    group.cancelAll()
                    throw error
                }
            }
            #expect(!self.published.elements.contains(.failed))
            #expect(!self.watcherStates.contains(.failed))
        }

        /// Publishes the next position, a minute later.
        func moveOn() throws {
            let number = self.fixes.withLock { fixes in
                fixes += 1
                return fixes
            }
            self.publisher.publish(
                Location(
                    coordinate: try #require(Coordinate(latitude: 52.6 + Double(number) * 0.001, longitude: -8.6)),
                    time: UnixTime(1_550_000_000 + Double(number) * 60)))
        }

        var watcherStates: [SubscriberState] {
            self.watched.elements.compactMap { if case .state(_, let state, _) = $0 { state } else { nil } }
        }

        /// Waits until the position arrives and both are ONLINE at the end.
        func bothOnline(seq: UInt64) async throws {
            try await self.watched.wait("position \(seq)", within: .seconds(60)) {
                if case .location(_, let update) = $0 { update.update.location.seq ?? 0 >= seq } else { false }
            }
            let deadline = ContinuousClock.now + .seconds(60)
            while self.published.elements.last != .online || self.watcherStates.last != .online {
                guard ContinuousClock.now < deadline else {
                    throw TestSupportError(
                        "the publisher was \(self.published.elements), the watcher \(self.watcherStates)")
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        }

        func publisherLeavesOnline() async throws {
            try await self.published.wait("OFFLINE", within: .seconds(60)) { $0 == .offline }
        }

        /// The watcher may have received the publisher's absence before it lost its own connection: OFFLINE is
        /// delivered only once.
        func watcherLeavesOnline() async throws {
            try await self.watched.wait("a lost connection", within: .seconds(60)) {
                if case .connection(_?) = $0 { true } else { false }
            }
            try await self.watched.wait("OFFLINE", within: .seconds(60)) {
                if case .state(_, .offline, _) = $0 { true } else { false }
            }
        }
    }

    private func play(
        answerTimeout: Duration = .seconds(5), _ body: (Scene) async throws -> Void
    ) async throws {
        let scene = try await Scene(answerTimeout: answerTimeout)
        try await scene.play { try await body(scene) }
    }

    /// The states of the publisher: ONLINE, OFFLINE, and ONLINE again after PUBLISHING.
    private let goneAndBack: [PublisherState] = [.publishing, .online, .offline, .publishing, .online]

    private func states(_ scene: Scene) -> [PublisherState] {
        let states = scene.published.elements
        return states.first == .offline ? Array(states.dropFirst()) : states
    }

    @Test func aBrokerThatIsStoppedAndStarted() async throws {
        try await self.play { scene in
            try await scene.broker.stop()
            try await scene.publisherLeavesOnline()
            try await scene.watcherLeavesOnline()
            try scene.moveOn()
            try await scene.broker.restart()
            try await scene.bothOnline(seq: 2)
            #expect(self.states(scene) == self.goneAndBack)
        }
    }

    @Test func aBrokerThatIsKilled() async throws {
        try await self.play { scene in
            try await scene.broker.kill()
            try await scene.publisherLeavesOnline()
            try await scene.watcherLeavesOnline()
            try await scene.broker.restart()
            try scene.moveOn()
            try await scene.bothOnline(seq: 2)
            #expect(self.states(scene) == self.goneAndBack)
        }
    }

    @Test func aBrokerThatFreezes() async throws {
        try await self.play { scene in
            scene.broker.freeze()
            // A missing answer to a heartbeat reveals the fault.
            try await scene.publisherLeavesOnline()
            try await scene.watcherLeavesOnline()
            try scene.moveOn()
            scene.broker.thaw()
            try await scene.bothOnline(seq: 2)
        }
    }

    @Test func aBrokerThatIsSlowIsWaitedFor() async throws {
        try await self.play(answerTimeout: .seconds(10)) { scene in
            scene.deviceWay.mode = .slow(bytesPerSecond: 2_000)
            scene.watcherWay.mode = .slow(bytesPerSecond: 2_000)
            for _ in 0..<20 { try scene.moveOn() }
            try await scene.bothOnline(seq: 21)
            #expect(self.states(scene) == [.publishing, .online], "slow is not gone")
            // Skipped positions are part of the next update: every position arrived.
            let seqs = scene.watched.elements.flatMap { event -> [UInt64] in
                guard case .location(_, let update) = event, !update.isLate else { return [] }
                return (update.skipped + [update.update.location]).compactMap(\.seq)
            }
            #expect(seqs == Array(1...21))
        }
    }

    @Test func aDeviceWhoseConnectionIsCut() async throws {
        try await self.play { scene in
            scene.deviceWay.mode = .refuse
            scene.deviceWay.cut()
            try await scene.publisherLeavesOnline()
            // The publisher's will reports its absence to the watcher, which is connected and receives no reason.
            try await scene.watched.wait("the publisher's absence", within: .seconds(60)) {
                if case .presence(_, let presence) = $0 { presence.status == .absent } else { false }
            }
            try scene.moveOn()
            scene.deviceWay.mode = .pass
            try await scene.bothOnline(seq: 2)
            #expect(self.states(scene) == self.goneAndBack)
        }
    }

    /// The broker has not detected the end of the first connection when the device returns: the late will must not make
    /// the device absent.
    @Test func aDeviceWhoseConnectionIsHalfOpen() async throws {
        try await self.play { scene in
            scene.deviceWay.swallow()
            try await scene.publisherLeavesOnline()
            try scene.moveOn()
            try await scene.bothOnline(seq: 2)
            #expect(self.states(scene) == self.goneAndBack)
        }
    }

    @Test func aWatcherWhoseConnectionIsCut() async throws {
        try await self.play { scene in
            scene.watcherWay.cut()
            try await scene.watcherLeavesOnline()
            try scene.moveOn()
            try await scene.bothOnline(seq: 2)
            #expect(self.states(scene) == [.publishing, .online], "the device does not care")
        }
    }

    @Test func aWatcherWhoseConnectionIsHalfOpen() async throws {
        try await self.play { scene in
            scene.watcherWay.swallow()
            try await scene.watcherLeavesOnline()
            try scene.moveOn()
            try await scene.bothOnline(seq: 2)
            #expect(self.states(scene) == [.publishing, .online], "the device does not care")
        }
    }
}
