public import TrackingCore

/// Keeps what was recorded: each record once, whatever comes twice, late or in any order, and finds it again.
///
/// What is called of one store comes into force in the order in which the calls return. An error concerns the one call: nothing of
/// it was done. Many tasks may call at once.
public protocol HistoryStore: Sendable {
    /// Stores a batch in one commit. It is durable on return.
    ///
    /// - Returns: What may be acknowledged, for every trackable that something came for.
    /// - Throws: `storeFailed` when the database is full or away, and `storeBusy` when another program writes: the same batch can be
    ///   tried again; `storeRefused` when it refuses what is in a record.
    func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport

    /// What may be acknowledged of a trackable: of the last streams that something came of, the number up to which everything
    /// is stored or declared missing.
    ///
    /// - Throws: `storeFailed`.
    func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement

    /// Reads the next points of a trackable, by time, then stream, then `seq`; an empty page is the end.
    ///
    /// - Parameters:
    ///   - after: Where the page before ended; `nil` for the first.
    ///   - limit: About so many points, ≥ 1; up to 4,096 more when they have the same time.
    /// - Throws: `storeFailed`.
    func points(_ query: PointQuery, after: PointName?, limit: Int) async throws(TrackingError) -> PointPage

    /// What is known of the numbers of a trackable's streams.
    ///
    /// - Throws: `storeFailed`.
    func coverage(of trackable: TrackableID) async throws(TrackingError) -> [StreamID: StreamCoverage]

    /// The newest position of each trackable whose clock was right, by id.
    ///
    /// - Parameter trackables: Which; `nil` for all that have one.
    /// - Throws: `storeFailed`.
    func lastPositions(of trackables: [TrackableID]?) async throws(TrackingError) -> [LastPosition]

    /// The trackables, by id: at most `limit` of those after `id`.
    ///
    /// - Throws: `storeFailed`.
    func trackables(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [TrackableSummary]

    /// Those of these trackables that are known, by id.
    ///
    /// - Throws: `storeFailed`.
    func summaries(of trackables: [TrackableID]) async throws(TrackingError) -> [TrackableSummary]

    /// The trackables of which a point is in `box` at a time in `times`, by id.
    ///
    /// - Throws: `storeFailed`.
    func trackables(in box: GeoBox, during times: TimeSpan) async throws(TrackingError) -> [TrackableID]

    /// The trips of a trackable that were under way in `times`, by their start, then their id: at most `limit`. One whose end was
    /// not told was under way for ``TripStateMachine/longestSilence`` after what was heard of it last.
    ///
    /// - Parameter last: The last trip of the page before; `nil` for the first page.
    /// - Throws: `storeFailed`.
    func trips(
        of trackable: TrackableID, during times: TimeSpan, after last: Trip?, limit: Int
    ) async throws(TrackingError) -> [Trip]

    /// The events of a trackable, by time, then stream, then `seq`: at most `limit` of those in `times`.
    ///
    /// - Parameter last: The last event of the page before; `nil` for the first page.
    /// - Throws: `storeFailed`.
    func events(
        of trackable: TrackableID, during times: TimeSpan, after last: TrackingEvent?, limit: Int
    ) async throws(TrackingError) -> [TrackingEvent]

    /// The newest times of what is stored: by them a clock is judged that is not known to be right.
    ///
    /// - Throws: `storeFailed`.
    func newest() async throws(TrackingError) -> NewestTimes

    /// What the store knows of a trackable's streams; `nil` when it does not know the trackable.
    ///
    /// - Throws: `storeFailed`.
    func verify(_ trackable: TrackableID) async throws(TrackingError) -> VerifyReport?

    /// Erases a trackable's points, trips, events and states, for good: what is of an earlier time than `before` and comes later
    /// is not taken, and counts as handled. What was set aside of it goes as a whole: of what cannot be read nobody knows the
    /// times.
    ///
    /// - Parameters:
    ///   - before: Only what is of an earlier time; `nil` for everything.
    ///   - now: The time by the clock: what is of this time or a later one is taken still, whatever `before` is.
    /// - Throws: `storeFailed`, `storeBusy`.
    func erase(_ trackable: TrackableID, before: UnixTime?, now: UnixTime) async throws(TrackingError) -> EraseReport

    /// Removes what is older than it is to be kept, a part after the other: storing goes on between them. Points, trips and events
    /// count as stored still: they are not taken again. What is known of a moment, and what was set aside, goes by when it came.
    ///
    /// - Parameters:
    ///   - limit: What is of an earlier time is removed.
    ///   - trackables: Of which; `nil` for all that `exceptions` does not name.
    ///   - exceptions: Not of these.
    /// - Returns: How many points, trips and events were removed.
    /// - Throws: `storeFailed`, `storeBusy`.
    func removeExpired(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> Int

    /// What was set aside, newest first, at most `limit`.
    ///
    /// - Throws: `storeFailed`.
    func quarantined(limit: Int) async throws(TrackingError) -> [RefusedMessage]

    /// Closes it. Nothing may be called afterwards.
    ///
    /// - Throws: `storeFailed`.
    func close() async throws(TrackingError)
}

extension HistoryStore {
    /// Reads all points of a query, a page of about `pageSize` after the other.
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

    /// All trips of a trackable that were under way in `times`, by their start.
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

    /// All events of a trackable in `times`, by time.
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

    /// All trackables, by id.
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

/// The bounds of a store that no configuration moves.
public enum StoreLimits {
    /// So many messages are kept at most that were set aside. Of whom there are most, the oldest go.
    public static let quarantine = 10_000
    /// So many notes of possible gaps are kept; the oldest go.
    public static let keptGaps = 1000
    /// So many of the last moments are told at which something may be missing.
    public static let possibleGaps = 20
    /// So many more points than asked for a page may have, when they have the same time.
    public static let pageExcess = 4096
}
