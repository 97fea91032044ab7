import TrackingCore
import TrackingStore

/// A history that reports the request of the second page before it is read.
struct InterruptedHistory: HistoryStore {
    let history: SQLiteHistoryStore
    let secondPage: @Sendable () async -> Void

    func points(
        _ query: PointQuery, after: PointName?, limit: Int
    ) async throws(TrackingError) -> PointPage {
        if after != nil { await self.secondPage() }
        return try await self.history.points(query, after: after, limit: limit)
    }

    func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport {
        try await self.history.store(batch)
    }
    func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement {
        try await self.history.acknowledgement(of: trackable)
    }
    func coverage(of trackable: TrackableID) async throws(TrackingError) -> [StreamID: StreamCoverage] {
        try await self.history.coverage(of: trackable)
    }
    func lastPositions(of trackables: [TrackableID]?) async throws(TrackingError) -> [LastPosition] {
        try await self.history.lastPositions(of: trackables)
    }
    func lastPositions(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [LastPosition] {
        try await self.history.lastPositions(after: id, limit: limit)
    }
    func trackables(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [TrackableSummary] {
        try await self.history.trackables(after: id, limit: limit)
    }
    func summaries(of trackables: [TrackableID]) async throws(TrackingError) -> [TrackableSummary] {
        try await self.history.summaries(of: trackables)
    }
    func trackables(in box: GeoBox, during times: TimeSpan) async throws(TrackingError) -> [TrackableID] {
        try await self.history.trackables(in: box, during: times)
    }
    func trips(
        of trackable: TrackableID, during times: TimeSpan, after last: Trip?, limit: Int
    ) async throws(TrackingError) -> [Trip] {
        try await self.history.trips(of: trackable, during: times, after: last, limit: limit)
    }
    func events(
        of trackable: TrackableID, during times: TimeSpan, after last: TrackingEvent?, limit: Int
    ) async throws(TrackingError) -> [TrackingEvent] {
        try await self.history.events(of: trackable, during: times, after: last, limit: limit)
    }
    func newest() async throws(TrackingError) -> NewestTimes { try await self.history.newest() }
    func verify(_ trackable: TrackableID) async throws(TrackingError) -> VerifyReport? {
        try await self.history.verify(trackable)
    }
    func erase(_ trackable: TrackableID, before: UnixTime?, now: UnixTime) async throws(TrackingError) -> EraseReport {
        try await self.history.erase(trackable, before: before, now: now)
    }
    func removeExpired(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> Int {
        try await self.history.removeExpired(before: limit, of: trackables, except: exceptions)
    }
    func quarantined(limit: Int) async throws(TrackingError) -> [RefusedMessage] {
        try await self.history.quarantined(limit: limit)
    }
    func close() async throws(TrackingError) { try await self.history.close() }
}
