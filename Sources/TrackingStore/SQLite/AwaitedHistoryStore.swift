import SystemLibrary
import Synchronization
public import TrackingCore

/// A history in an SQLite file that may not exist yet, opened for reading only. The history is empty until a recorder
/// has made the file.
public final class AwaitedHistoryStore: HistoryStore {
    /// The path of the history's SQLite file, which may not exist yet.
    public let path: String
    private let opened = Mutex<SQLiteHistoryStore?>(nil)

    /// Creates a history without opening its file. The first call after the file exists opens it.
    public init(path: String) { self.path = path }

    /// A Boolean value that indicates whether the history can be read: its file exists, or was opened before.
    public var isThere: Bool { self.opened.withLock { $0 != nil } || access(self.path, F_OK) == 0 }

    /// Returns the opened history, and opens it first if necessary; `nil` while the file does not exist.
    ///
    /// - Throws: `storeBusy` while a recorder is making the file; the errors of
    ///   ``SQLiteHistoryStore/init(path:isForReading:)``.
    private func history() throws(TrackingError) -> SQLiteHistoryStore? {
        guard self.isThere else { return nil }
        let result: Result<SQLiteHistoryStore, TrackingError> = self.opened.withLock { opened in
            if let known = opened { return .success(known) }
            do throws(TrackingError) {
                let store = try SQLiteHistoryStore(path: self.path, isForReading: true)
                opened = store
                return .success(store)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Always throws `storeFailed`: this history is opened for reading only, so no batch can be stored.
    public func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport { throw self.onlyRead }

    /// Returns the acknowledgement of a trackable: for each recent stream, the number up to which each record is
    /// stored, erased, quarantined, or gone from the device. See ``HistoryStore/acknowledgement(of:)``.
    public func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement {
        try await self.history()?.acknowledgement(of: trackable) ?? Acknowledgement(streams: [:])
    }

    /// Reads the next page of the points that a query selects. See ``HistoryStore/points(_:after:limit:)``.
    public func points(_ query: PointQuery, after: PointName?, limit: Int) async throws(TrackingError) -> PointPage {
        try await self.history()?.points(query, after: after, limit: limit) ?? PointPage(points: [], next: nil)
    }

    /// Returns the known record numbers of each stream of a trackable, with their states: stored, erased, quarantined
    /// or gone. See ``HistoryStore/coverage(of:)``.
    public func coverage(of trackable: TrackableID) async throws(TrackingError) -> [StreamID: StreamCoverage] {
        try await self.history()?.coverage(of: trackable) ?? [:]
    }

    /// Returns the newest position of each given trackable, or of all trackables. See
    /// ``HistoryStore/lastPositions(of:)``.
    public func lastPositions(of trackables: [TrackableID]?) async throws(TrackingError) -> [LastPosition] {
        try await self.history()?.lastPositions(of: trackables) ?? []
    }

    /// Returns the newest positions of the trackables after an id, in the order of their ids. See
    /// ``HistoryStore/lastPositions(after:limit:)``.
    public func lastPositions(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [LastPosition] {
        try await self.history()?.lastPositions(after: id, limit: limit) ?? []
    }

    /// Returns summaries of the trackables after an id, in the order of their ids. See
    /// ``HistoryStore/trackables(after:limit:)``.
    public func trackables(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [TrackableSummary] {
        try await self.history()?.trackables(after: id, limit: limit) ?? []
    }

    /// Returns summaries of those given trackables that the history contains. See ``HistoryStore/summaries(of:)``.
    public func summaries(of trackables: [TrackableID]) async throws(TrackingError) -> [TrackableSummary] {
        try await self.history()?.summaries(of: trackables) ?? []
    }

    /// Returns the trackables that have a point in a box during a time span. See
    /// ``HistoryStore/trackables(in:during:)``.
    public func trackables(in box: GeoBox, during times: TimeSpan) async throws(TrackingError) -> [TrackableID] {
        try await self.history()?.trackables(in: box, during: times) ?? []
    }

    /// Returns the next trips of a trackable during a time span. See ``HistoryStore/trips(of:during:after:limit:)``.
    public func trips(
        of trackable: TrackableID, during times: TimeSpan, after last: Trip?, limit: Int
    ) async throws(TrackingError) -> [Trip] {
        try await self.history()?.trips(of: trackable, during: times, after: last, limit: limit) ?? []
    }

    /// Returns the next events of a trackable during a time span. See ``HistoryStore/events(of:during:after:limit:)``.
    public func events(
        of trackable: TrackableID, during times: TimeSpan, after last: TrackingEvent?, limit: Int
    ) async throws(TrackingError) -> [TrackingEvent] {
        try await self.history()?.events(of: trackable, during: times, after: last, limit: limit) ?? []
    }

    /// Returns two times of the whole history: the time of its newest position, and the time at which the last presence
    /// or resolution was received. Both are `nil` while the file does not exist. See ``HistoryStore/newest()``.
    public func newest() async throws(TrackingError) -> NewestTimes {
        try await self.history()?.newest() ?? NewestTimes()
    }

    /// Returns a report on the completeness of a trackable's streams. See ``HistoryStore/verify(_:)``.
    public func verify(_ trackable: TrackableID) async throws(TrackingError) -> VerifyReport? {
        try await self.history()?.verify(trackable)
    }

    /// Always throws `storeFailed`: this history is opened for reading only, so no record can be erased.
    public func erase(
        _ trackable: TrackableID, before: UnixTime?, now: UnixTime
    ) async throws(TrackingError) -> EraseReport { throw self.onlyRead }

    /// Always throws `storeFailed`: this history is opened for reading only, so no expired record can be removed.
    public func removeExpired(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> Int { throw self.onlyRead }

    /// Returns the newest quarantined messages of the history, newest first, at most `limit`. See
    /// ``HistoryStore/quarantined(limit:)``.
    public func quarantined(limit: Int) async throws(TrackingError) -> [RefusedMessage] {
        try await self.history()?.quarantined(limit: limit) ?? []
    }

    /// Closes the history's file if it was opened. See ``HistoryStore/close()``.
    public func close() async throws(TrackingError) {
        let opened = self.opened.withLock { opened in
            defer { opened = nil }
            return opened
        }
        try await opened?.close()
    }

    private var onlyRead: TrackingError {
        TrackingError(.storeFailed, "cannot change the history \(self.path): it was opened for reading only")
    }
}

extension HistoryStore {
    /// A Boolean value that indicates whether the history exists. It is `false` only for an ``AwaitedHistoryStore``
    /// whose file no recorder has made yet.
    public var isPresent: Bool { (self as? AwaitedHistoryStore)?.isThere ?? true }
}
