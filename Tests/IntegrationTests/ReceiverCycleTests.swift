import Foundation
import Godwit
import Synchronization
import TestSupport
import Testing

/// The example of README.md makes the receiver measure only as often as the watchers require.
@Suite(.timeLimit(.minutes(5))) struct ReceiverCycleTests {
    /// A simulated receiver that counts its fixes.
    private final class CountedReceiver: LocationSource {
        private let receiver = SimulatedSource()
        private let state = Mutex<(fixes: Int, resolution: Resolution?)>((0, nil))

        var facts: SourceFacts { self.receiver.facts }
        var fixes: Int { self.state.withLock { $0.fixes } }
        var resolution: Resolution? { self.state.withLock { $0.resolution } }

        func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
            try await self.receiver.run { event in
                if case .fix = event { self.state.withLock { $0.fixes += 1 } }
                await deliver(event)
            }
        }

        func use(_ resolution: Resolution) async {
            self.state.withLock { $0.resolution = resolution }
            await self.receiver.use(resolution)
        }

        /// Returns the number of fixes that the receiver makes in 8 s.
        func count() async throws -> Int {
            let before = self.fixes
            try await Task.sleep(for: .seconds(8))
            return self.fixes - before
        }
    }

    @Test func theReceiverIsSlowUntilTheDeskRequestsMore() async throws {
        let broker = try await MosquittoProcess.start()
        let log = broker.directory.appending(path: "publisher.sqlite").path()
        let receiver = CountedReceiver()
        let publisher = try AssetPublisher(broker: broker.url, client: "van-7-box", log: .file(log))
        publisher.track("van-7")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run(reading: receiver, battery: .system) }
            try await waitUntil { receiver.fixes > 0 && receiver.resolution == .standard }
            // The standard resolution is one fix in 30 s.
            let unwatched = try await receiver.count()
            #expect(unwatched <= 1)

            let desk = try AssetSubscriber(broker: broker.url, client: "desk")
            var received = 0
            for await update in desk.locations(of: "van-7", requesting: .high(every: .seconds(1))) {
                if !update.isRetained { received += 1 }
                if received == 1 {
                    let watched = try await receiver.count()
                    #expect(watched >= 6)
                }
                if received == 5 { break }
            }

            // The end of the stream withdraws the request.
            try await waitUntil { receiver.resolution == .standard }
            desk.finish()
            publisher.finish()
            try await group.waitForAll()
        }
        #expect(FileManager.default.fileExists(atPath: log))
    }

    @Test func aWrongAddressOrClientIDIsRejected() throws {
        let address = #expect(throws: TrackingError.self) {
            try AssetPublisher(broker: "tcp://127.0.0.1", client: "van-7-box", log: .memory)
        }
        #expect(address?.code == .invalidConfiguration)
        let client = #expect(throws: TrackingError.self) {
            try AssetSubscriber(broker: "mqtt://127.0.0.1", client: "the desk")
        }
        #expect(client?.code == .invalidName)
    }
}
