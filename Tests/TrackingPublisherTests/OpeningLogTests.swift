import Testing
import TrackingCore
import TrackingPublisher
import TrackingTesting

/// Tests for a log that takes long to open, as during the salvage of a damaged one.
@Suite(.timeLimit(.minutes(5))) struct OpeningLogTests {
    @Test func aPublisherThatOpensItsLogSaysSoAtOnce() async throws {
        let (opening, end) = AsyncStream.makeStream(of: Never.self)
        let (client, storage) = (try ClientID("d1"), FailingSpool(opening: opening))
        let publisher = AssetPublisher(
            configuration: PublisherConfiguration(client: client, session: try #require(SessionID("mine"))),
            transport: InMemoryBroker().client(client), spool: storage)
        #expect(publisher.isOpeningLog)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            while storage.calls.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(publisher.isOpeningLog)
            end.finish()
            while publisher.isOpeningLog { try await Task.sleep(for: .milliseconds(2)) }
            #expect(await publisher.snapshot() != nil)
            publisher.finish(within: .zero)
            try await group.waitForAll()
        }
        #expect(!publisher.isOpeningLog)
    }
}
