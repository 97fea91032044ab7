import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// `godwit enhance` with a real broker, a real routing engine and the roads of a real town.
@Suite(
    .timeLimit(.minutes(10)), .serialized,
    .enabled(if: RoadsProcess.isAvailable, "the routing engine or the OpenStreetMap extract is absent"))
struct EnhanceTests {
    /// The enhancer matches a drive with its streets. While the engine is away, it publishes the fixes as they are.
    @Test func aDriveIsMatchedWithItsStreets() async throws {
        try await Self.drive { scene in
            var matched: [LocationUpdate] = []
            for _ in 0..<30 {
                let (fix, update) = try await scene.next()
                #expect(update.location.seq == fix.seq)
                #expect(update.location.stream == fix.stream)
                // A loaded machine may let the engine miss the deadline of a fix.
                guard update.enhancement?.confidence == .matched else { continue }
                matched.append(update)
                #expect(scene.distance(update.location.coordinate) <= 4, "\(update.location.seq ?? 0)")
            }
            try #require(matched.count >= 10)
            #expect(matched.contains { $0.enhancement?.road != nil })
            #expect(matched.contains { $0.enhancement?.finalSeq != nil })
            #expect(matched.contains { !$0.intermediate.isEmpty })
            #expect(matched.flatMap(\.intermediate).allSatisfy { scene.distance($0.coordinate) <= 4 })

            try await scene.roads.kill()
            let end = ContinuousClock.now + .seconds(60)
            while !scene.enhancer.errors.contains("Routing engine is away") {
                let (fix, update) = try await scene.next()
                #expect(update.enhancement?.confidence == .offRoad)
                #expect(update.location.coordinate == fix.coordinate)
                try #require(ContinuousClock.now < end, "\(scene.enhancer.errors)")
            }

            let again = try await RoadsProcess.start(port: scene.roads.port)
            let deadline = ContinuousClock.now + .seconds(60)
            while try await scene.next().update.enhancement?.confidence != .matched {
                try #require(ContinuousClock.now < deadline, "\(scene.enhancer.errors)")
                // The enhancer tries the engine again only when a fix arrives.
                try await Task.sleep(for: .milliseconds(100))
            }
            try await scene.enhancer.waitForLog("Routing engine answers again")
            withExtendedLifetime(again) {}
        }
    }

    /// A cleared position clears the position on the road.
    @Test func aClearedPositionIsClearedOnTheRoadAsWell() async throws {
        try await Self.drive { scene in
            _ = try await scene.next()
            try await scene.publish([])
            #expect(try await scene.enhanced().isEmpty)
        }
    }

    // MARK: - Parts

    private static func enhancer(_ broker: MosquittoProcess, _ roads: RoadsProcess) throws -> RunningProgram {
        try Programs.start(
            "godwit", ["enhance", "--broker", broker.url, "--engine", roads.address, "--log-level", "info"])
    }

    private static func client(_ broker: MosquittoProcess) throws -> MQTTClient {
        try MQTTClient(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("test")))
    }

    /// Runs `body` with a broker, a routing engine, an enhancer, and a client that reads the positions on the road. Then
    /// ends the enhancer, and checks its exit code and its log.
    private static func drive(_ body: (inout Scene) async throws -> Void) async throws {
        let broker = try await MosquittoProcess.start()
        let roads = try await RoadsProcess.start()
        let way = try await RoadDrive.way(roads)
        let enhancer = try Self.enhancer(broker, roads)
        try await enhancer.waitForLog("enhancing as 'enhancer'")
        let client = try Self.client(broker)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            try await client.withSubscription(to: ["tracking/van/enhanced"]) { messages in
                var scene = Scene(
                    roads: roads, enhancer: enhancer, client: client, drive: Drive(way: way),
                    messages: messages.makeAsyncIterator())
                try await body(&scene)
            }
        }
        let result = try await enhancer.end()
        #expect(result.code == 0, "\(result.errors)")
        #expect(!result.errors.contains(#/47\.\d{5}/#), "a log has no coordinates: \(result.errors)")
        withExtendedLifetime(broker) {}
    }
}

/// A drive of one trackable, and the messages about it.
private struct Scene {
    let roads: RoadsProcess
    let enhancer: RunningProgram
    let client: MQTTClient
    var drive: Drive
    var messages: MQTTMessages.AsyncIterator

    /// Publishes the next fix of the drive, and returns it with the enhanced update that the enhancer makes of it.
    mutating func next() async throws -> (raw: Location, update: LocationUpdate) {
        let fix = self.drive.next()
        try await self.publish(try LocationCodec.encode(LocationUpdate(location: fix)))
        return (fix, try LocationCodec.decode(try await self.enhanced()))
    }

    func publish(_ payload: [UInt8]) async throws {
        try await self.client.publish(OutgoingMessage(topic: "tracking/van", payload: payload, isRetained: true))
    }

    mutating func enhanced() async throws -> ArraySlice<UInt8> {
        ArraySlice(try #require(try await self.messages.next()).payload)
    }

    /// The distance from a place to the way of the drive, in metres.
    func distance(_ place: Coordinate) -> Double {
        self.drive.way.map { $0.distance(to: place).value }.min() ?? .infinity
    }
}

/// Fixes along a way, one a second, beside the road by a few metres.
private struct Drive {
    let way: [Coordinate]
    private var count: UInt64 = 0
    private var position = 0

    init(way: [Coordinate]) { self.way = way }

    mutating func next() -> Location {
        self.count += 1
        self.position = min(self.position + 7, self.way.count - 2)
        let ahead = self.way[self.position].bearing(to: self.way[self.position + 1])
        let offset = Meters(Double(self.count % 4))
        var fix = Location(
            coordinate: self.way[self.position].destination(bearing: ahead + 90, distance: offset),
            time: UnixTime(1_790_000_000 + Double(self.count)))
        (fix.seq, fix.stream, fix.speed, fix.accuracyHorizontal) = (self.count, StreamID("s1"), 14, 5)
        return fix
    }
}
