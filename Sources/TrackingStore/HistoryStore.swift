public import TrackingCore

/// A database (history) of recorded points, trips, events and states.
///
/// A store has each record once, even if it is received twice, late or out of order. Calls take effect in the order in
/// which they return. A call that throws an error has no effect. Any number of tasks may call a store concurrently.
public protocol HistoryStore: Sendable {
    /// Stores a batch of records in one commit. Once the call has returned, the records survive a power cut.
    ///
    /// - Returns: The acknowledgement of each trackable in the batch, and the counts of new, repeated and rejected
    ///   records.
    /// - Throws: `storeFailed` when the database is full or cannot be reached, and `storeBusy` when another program
    ///   writes to it; in both cases the same batch can be stored later. `storeRefused` when the database rejects the
    ///   content of a record.
    func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport

    /// Returns the acknowledgement of a trackable. It contains, for each stream that changed recently, the number up to
    /// which the history waits for no more records: each is stored, erased, quarantined, or gone from the device.
    ///
    /// - Throws: `storeFailed`.
    func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement

    /// Reads the next points of a trackable, ordered by time, then stream, then `seq`. The page also names the
    /// point after which the next page begins, or `nil` if no page follows.
    ///
    /// - Parameters:
    ///   - query: The selection of points.
    ///   - after: The last point of the previous page; `nil` for the first page.
    ///   - limit: The approximate number of points, ≥ 1. The page has up to 4,096 more if they have the same time.
    /// - Throws: `storeFailed`.
    func points(_ query: PointQuery, after: PointName?, limit: Int) async throws(TrackingError) -> PointPage

    /// Returns the coverage of a trackable's streams: the record numbers that are stored, erased, quarantined, or
    /// declared gone by the device. All other numbers are unknown.
    ///
    /// - Throws: `storeFailed`.
    func coverage(of trackable: TrackableID) async throws(TrackingError) -> [StreamID: StreamCoverage]

    /// Returns the newest position of each trackable, in the order of the trackables' ids. Positions that were recorded
    /// with a wrong clock, and positions at [0, 0], do not count.
    ///
    /// - Parameter trackables: The trackables; `nil` for all that have a position.
    /// - Throws: `storeFailed`.
    func lastPositions(of trackables: [TrackableID]?) async throws(TrackingError) -> [LastPosition]

    /// Returns the newest positions of at most `limit` trackables whose ids come after `id`, in the order of their ids.
    /// Trackables without a position do not count. See ``lastPositions(of:)``.
    ///
    /// - Throws: `storeFailed`.
    func lastPositions(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [LastPosition]

    /// Returns summaries of at most `limit` trackables whose ids come after `id`, in the order of their ids.
    ///
    /// - Throws: `storeFailed`.
    func trackables(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [TrackableSummary]

    /// Returns summaries of those of the given trackables that the store contains, in the order of their ids.
    ///
    /// - Throws: `storeFailed`.
    func summaries(of trackables: [TrackableID]) async throws(TrackingError) -> [TrackableSummary]

    /// Returns the trackables that have a point in `box` at a time in `times`, in the order of their ids.
    ///
    /// - Throws: `storeFailed`.
    func trackables(in box: GeoBox, during times: TimeSpan) async throws(TrackingError) -> [TrackableID]

    /// Returns at most `limit` trips of a trackable that were under way at a time in `times`. They are ordered by their
    /// start, then their id.
    ///
    /// A trip without a recorded end counts as under way for ``/TrackingCore/TripStateMachine/longestSilence`` after
    /// its last recorded version.
    ///
    /// - Parameters:
    ///   - trackable: The trackable of the trips.
    ///   - times: The span of time, of which a trip has at least one moment.
    ///   - last: The last trip of the page before; `nil` for the first page.
    ///   - limit: The maximum number of trips, ≥ 1.
    /// - Throws: `storeFailed`.
    func trips(
        of trackable: TrackableID, during times: TimeSpan, after last: Trip?, limit: Int
    ) async throws(TrackingError) -> [Trip]

    /// Returns at most `limit` events of a trackable at times in `times`, ordered by time, then stream, then `seq`.
    ///
    /// - Parameters:
    ///   - trackable: The trackable of the events.
    ///   - times: The span of time of the events.
    ///   - last: The last event of the page before; `nil` for the first page.
    ///   - limit: The maximum number of events, ≥ 1.
    /// - Throws: `storeFailed`.
    func events(
        of trackable: TrackableID, during times: TimeSpan, after last: TrackingEvent?, limit: Int
    ) async throws(TrackingError) -> [TrackingEvent]

    /// Returns two times of the whole store: the time of its newest position, and the time at which the last presence
    /// or resolution was received. A system clock that is not synchronized can be compared with them.
    ///
    /// - Throws: `storeFailed`.
    func newest() async throws(TrackingError) -> NewestTimes

    /// Returns a report on the completeness of a trackable's streams; `nil` if the store does not know the
    /// trackable.
    ///
    /// - Throws: `storeFailed`.
    func verify(_ trackable: TrackableID) async throws(TrackingError) -> VerifyReport?

    /// Erases a trackable's points, trips, events and states for good.
    ///
    /// Records with a time before `before` that are received later are not stored, but acknowledged. All quarantined
    /// messages of the trackable are erased, because the times of unreadable messages are not known.
    ///
    /// - Parameters:
    ///   - trackable: The trackable.
    ///   - before: The time before which everything is erased; `nil` to erase everything.
    ///   - now: The current time. Records with this time or a later one can still be stored later, even if `before` is
    ///     later.
    /// - Throws: `storeFailed`, `storeBusy`.
    func erase(_ trackable: TrackableID, before: UnixTime?, now: UnixTime) async throws(TrackingError) -> EraseReport

    /// Removes records that are older than a limit, in several transactions, so that storing goes on between them.
    ///
    /// Removed points, trips and events still count as stored: they are not stored again. The age of a state or of a
    /// quarantined message is the time since it was received.
    ///
    /// - Parameters:
    ///   - limit: The time before which records are removed.
    ///   - trackables: The trackables; `nil` for all except `exceptions`.
    ///   - exceptions: The trackables whose records are not removed.
    /// - Returns: The number of removed points, trips and events.
    /// - Throws: `storeFailed`, `storeBusy`.
    func removeExpired(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> Int

    /// Returns the newest quarantined messages, newest first, at most `limit`. Entries that record a possible gap, a
    /// time at which messages may have been lost, are among them.
    ///
    /// - Throws: `storeFailed`.
    func quarantined(limit: Int) async throws(TrackingError) -> [RefusedMessage]

    /// Closes the history. No method may be called afterwards.
    ///
    /// - Throws: `storeFailed`.
    func close() async throws(TrackingError)
}

extension HistoryStore {
    /// Reads all points that a query selects, page by page, and passes each page to `body`. A page has about `pageSize`
    /// points.
    ///
    /// - Throws: `storeFailed`, and what `body` throws.
    public func readAll(
        _ query: PointQuery, pageSize: Int = 2000, _ body: ([StoredPoint]) async throws -> Void
    ) async throws {
        var after: PointName?
        repeat {
            let page = try await self.points(query, after: after, limit: pageSize)
            try await body(page.points)
            after = page.next
        } while after != nil
    }

    /// Returns all trips of a trackable that were under way at a time in `times`, ordered by their start.
    ///
    /// - Throws: `storeFailed`.
    public func allTrips(
        of trackable: TrackableID, during times: TimeSpan
    ) async throws(TrackingError) -> [Trip] {
        var trips: [Trip] = []
        while true {
            let page = try await self.trips(of: trackable, during: times, after: trips.last, limit: 1000)
            trips += page
            guard page.count == 1000 else { return trips }
        }
    }

    /// Returns all events of a trackable whose times are in `times`, ordered by time.
    ///
    /// - Throws: `storeFailed`.
    public func allEvents(
        of trackable: TrackableID, during times: TimeSpan
    ) async throws(TrackingError) -> [TrackingEvent] {
        var events: [TrackingEvent] = []
        while true {
            let page = try await self.events(of: trackable, during: times, after: events.last, limit: 1000)
            events += page
            guard page.count == 1000 else { return events }
        }
    }

    /// Returns the ids of all trackables in the history, in the order of the ids.
    ///
    /// - Throws: `storeFailed`.
    public func allTrackables() async throws(TrackingError) -> [TrackableID] {
        var all: [TrackableID] = []
        while true {
            let page = try await self.trackables(after: all.last, limit: 1000)
            all += page.map(\.id)
            guard page.count == 1000 else { return all }
        }
    }
}

/// The fixed limits of a history: how many quarantined messages and possible gaps it stores, and how large a page of
/// points can become.
public enum StoreLimits {
    /// The maximum number of quarantined messages. When it is exceeded, the table is reduced to 95 % of it: messages of
    /// the trackable with the most quarantined messages are removed, the oldest first. Entries that record a possible
    /// gap do not count.
    public static let quarantine = 10_000
    /// The maximum number of stored possible gaps. A possible gap is a time at which messages may have been lost,
    /// because the broker had kept no session for the recorder. Beyond the maximum, the oldest are removed.
    public static let keptGaps = 1000
    /// The maximum number of possible gaps in a report, the newest first. A possible gap is a time at which messages
    /// may have been lost, because the broker had kept no session for the recorder.
    public static let possibleGaps = 20
    /// The maximum number of points by which a page can exceed the requested number. All additional points have the
    /// same time as the last requested point.
    public static let pageExcess = 4096
}
