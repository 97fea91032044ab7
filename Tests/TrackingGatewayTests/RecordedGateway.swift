import Foundation
import Hummingbird
import TrackingCore
import TrackingStore

@testable import TrackingGateway

/// A gateway with its own history.
final class RecordedGateway: Sendable {
    let gateway: TestGateway
    let history: SQLiteHistoryStore
    private let live: LiveState?

    static let start = UnixTime(1_790_000_000)

    /// - Parameters:
    ///   - counts: The number of points of each trackable: one a second, northward by about ten metres.
    ///   - roads: The routing engine.
    init(_ counts: [String: Int], live: LiveState? = nil, roads: (any RoadEngine)? = nil) async throws {
        self.gateway = try TestGateway { $0.roads = roads }
        self.history = try SQLiteHistoryStore(path: self.gateway.folder.appending(path: "history.sqlite").path())
        self.live = live
        for (name, count) in counts { try await self.store(1...UInt64(count), of: name) }
    }

    static func point(_ seq: UInt64) -> Location {
        let place = Coordinate(latitude: 52 + Double(seq) * 1e-4, longitude: -8.66)!  // in range
        var point = Location(coordinate: place, time: UnixTime(self.start.seconds + Double(seq)))
        point.seq = seq
        point.stream = StreamID("one")
        return point
    }

    func store(_ seqs: some Sequence<UInt64>, of name: String) async throws {
        var recording = Recording(of: try TrackableID(name), at: UnixTime(Self.start.seconds + 100_000))
        recording.points = seqs.map(Self.point)
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await self.history.store(batch)
    }

    func store(_ points: [Location], trip: Trip, of name: String) async throws {
        var recording = Recording(of: try TrackableID(name), at: UnixTime(Self.start.seconds + 100_000))
        recording.points = points
        recording.trips = [RecordedDocument(trip, json: MessageCodec.encode(trip))]
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await self.history.store(batch)
    }

    func store(events: [TrackingEvent], of name: String) async throws {
        var recording = Recording(of: try TrackableID(name), at: UnixTime(Self.start.seconds + 100_000))
        recording.events = events.map { RecordedDocument($0, json: MessageCodec.encode($0)) }
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await self.history.store(batch)
    }

    func test(_ body: @escaping @Sendable (RouterClient) async throws -> Void) async throws {
        try await self.gateway.test(history: self.history, live: self.live, body)
    }
}
