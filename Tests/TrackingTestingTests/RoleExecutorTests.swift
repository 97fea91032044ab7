import Dispatch
import Synchronization
import Testing
import TrackingCore
import TrackingPublisher
import TrackingSubscriber
import TrackingTesting

/// The executors of a role's tasks: the transport's preferred executor, or the user's.
@Suite struct RoleExecutorTests {
    private static let key = DispatchSpecificKey<Bool>()
    private static var isOnQueue: Bool { DispatchQueue.getSpecific(key: Self.key) == true }

    private final class QueueExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "transport")

        init() { self.queue.setSpecific(key: RoleExecutorTests.key, value: true) }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// A client of the broker in memory that prefers a queue as its executor.
    private struct Choosy: MessageTransport {
        let client: InMemoryBroker.Client
        let queue: QueueExecutor
        /// `true` when every call came from the queue.
        let calls: Calls

        var events: some AsyncSequence<[TransportEvent], Never> & Sendable { self.client.events }
        var executor: (any TaskExecutor)? { self.queue }

        func send(_ commands: [TransportCommand]) {
            self.calls.note(RoleExecutorTests.isOnQueue)
            self.client.send(commands)
        }

        func run() async {
            self.calls.note(RoleExecutorTests.isOnQueue)
            await self.client.run()
        }
    }

    private final class Calls: Sendable {
        private let list = Mutex<[Bool]>([])
        var all: [Bool] { self.list.withLock { $0 } }
        func note(_ isOnQueue: Bool) { self.list.withLock { $0.append(isOnQueue) } }
    }

    @Test(.timeLimit(.minutes(5))) @MainActor func rolesRunOnTheirTransportsPreferredExecutor() async throws {
        let broker = InMemoryBroker()
        let queue = QueueExecutor()
        let calls = Calls()
        let id = try TrackableID("van-7")
        let box = PublisherConfiguration(client: try ClientID("box"), session: try #require(SessionID("b")))
        let eye = SubscriberConfiguration(client: try ClientID("eye"), session: try #require(SessionID("e")))
        let publisher = AssetPublisher(
            configuration: box, transport: Choosy(client: broker.client(box.client), queue: queue, calls: calls))
        let subscriber = AssetSubscriber(
            configuration: eye, transport: Choosy(client: broker.client(eye.client), queue: queue, calls: calls))
        let updates = subscriber.locations(of: id)
        publisher.add(Trackable(id))
        subscriber.watch(id)
        publisher.publish(
            Location(coordinate: try #require(Coordinate(latitude: 1, longitude: 2)), time: UnixTime(1_600_000_000)))
        async let carrying: Void = publisher.run()
        async let watching: Void = subscriber.run()
        for await _ in updates {
            #expect(!Self.isOnQueue, "what its user does is not held against the transport's thread")
            break
        }
        publisher.finish()
        subscriber.finish()
        try await carrying
        try await watching
        #expect(calls.all.count > 4)
        #expect(!calls.all.contains(false))
    }
}
