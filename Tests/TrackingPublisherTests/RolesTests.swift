import Testing
import TrackingCore
import TrackingPublisher
import TrackingTesting

@Suite struct AssetPublisherTests {
    @Test(.timeLimit(.minutes(5))) func aFixReachesTheBrokerAndThePublisherIsOnline() async throws {
        let broker = InMemoryBroker()
        let client = try ClientID("dev-1")
        let session = try #require(SessionID("s1"))
        let transport = broker.client(client)
        let publisher = AssetPublisher(
            configuration: PublisherConfiguration(client: client, session: session), transport: transport)
        let states = publisher.states
        publisher.track(Trackable(try TrackableID("van-7")))
        let coordinate = try #require(Coordinate(latitude: 52.6, longitude: -8.6))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            for second in 0..<100 {
                var fix = Location(coordinate: coordinate, time: UnixTime(1_550_000_000 + Double(second)))
                fix.speed = 1
                await publisher.publishAndWait(fix)
            }
            for await change in states where change.state == .online { break }
            #expect(broker.retained("tracking/van-7/publisher/dev-1") != nil)
            publisher.finish()
            try await group.waitForAll()
        }
        let last = try LocationCodec.decode(try #require(broker.retained("tracking/van-7")))
        #expect(last.location.seq == 100)
        #expect(last.skipped.map(\.seq) == (92...99).map { UInt64($0) })
        #expect(broker.retained("tracking/van-7/publisher/dev-1") == nil)
        #expect(broker.retained("tracking/van-7/resolution") == nil)
        let liveness = try MessageCodec.decodeLiveness(try #require(broker.retained("tracking/_clients/dev-1")))
        #expect(liveness.status == .offline)
    }
}
