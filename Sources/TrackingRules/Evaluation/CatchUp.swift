import TrackingCore
import TrackingStore

/// Finds the records that webhooks missed while the gateway was not connected to the broker. This time without a
/// connection is called the gap.
///
/// After the gap, the gateway reads the records of that time page by page from the history, the recorder's database.
/// This type decides which page to read next, and which records on it were never queued for webhooks.
///
/// The gateway reads the history twice: 1 s after the broker's retained messages arrived, and again 60 s after the
/// first reading. The second reading finds records that devices sent late, in batches.
struct CatchUp: Sendable {
    /// The pauses before the two readings of the history. The first pause begins at the end of the gap, the second one
    /// at the end of the first reading.
    private static let pauses: [Duration] = [.seconds(1), .seconds(60)]
    /// The margin before and after the gap in the gateway's connection: 300 s. Records of this margin are read from the
    /// history as well, because clocks differ and a lost connection is noticed late.
    static let tolerance = Duration.seconds(300)

    /// The time at which the gap in the gateway's connection to the broker began. After a restart, it is the last time
    /// up to which an earlier run of the gateway queued every message for webhooks, but at most 7 days ago.
    let since: UnixTime
    /// The time at which the gap in the gateway's connection to the broker ended; `nil` while the gateway is not
    /// connected.
    private(set) var until: UnixTime?
    /// `true` once the gateway has read the history of the whole gap, the time without a connection, at least once
    /// since it reconnected to the broker.
    private(set) var hasReadOnce = false

    /// The highest record number of each stream that was queued for webhooks before the gap in the gateway's
    /// connection.
    private let watermarks: RecordWatermarks
    private let tripWatermarks: TripWatermarks
    /// The numbers of the records that were queued for webhooks since the beginning of the gap (the time without a
    /// connection to the broker), by trackable and stream.
    private var queued: [TrackableID: [StreamID: SeqSet]] = [:]
    /// The pages of the history that are still to be requested in the present reading of the history. The last element
    /// is requested next.
    private var queries: [HistoryRead.Query] = []
    private var reading = 0
    private var readNumber = 0
    /// The request for a page whose answer is awaited, and the number of clearings of trackables at the time of the
    /// request; `nil` if no answer is awaited.
    private var outstanding: (read: HistoryRead, clearings: Int)?
    /// The time before which no page of the history is requested; `nil` while the gateway is not connected.
    private var earliest: MonotonicTime?
    private var backoff = Self.minimumBackoff

    private static let minimumBackoff = Duration.seconds(1)
    private static let maximumBackoff = Duration.seconds(30)

    /// Begins a gap in the gateway's connection to the broker.
    ///
    /// - Parameters:
    ///   - since: The time at which the gap began.
    ///   - watermarks: The highest record number of each stream that was queued for webhooks before the gap.
    ///   - tripWatermarks: The last version of each trackable's trip that was queued for webhooks before the gap.
    init(since: UnixTime, watermarks: RecordWatermarks, tripWatermarks: TripWatermarks) {
        self.since = since
        self.watermarks = watermarks
        self.tripWatermarks = tripWatermarks
    }

    /// The time span of the records to read: the gap, with ``tolerance`` before and after it; `nil` while the gateway
    /// is not connected.
    private var times: TimeSpan? {
        self.until.map {
            TimeSpan(from: self.since.advanced(by: .zero - Self.tolerance), to: $0.advanced(by: Self.tolerance))
        }
    }

    // MARK: - The gap

    /// Handles that the gateway lost its connection to the broker before the gap was caught up. The gap then lasts on
    /// from its earlier beginning. The reading of the history is abandoned, and begins again at the next connection.
    mutating func connectionLost() {
        self.until = nil
        self.hasReadOnce = false
        self.outstanding = nil
        self.earliest = nil
    }

    /// Ends the gap, because the gateway is connected again and received all retained messages. The first reading of
    /// the history is due after a pause.
    mutating func connected(at moment: Moment) {
        self.until = moment.wall
        self.reading = 0
        self.beginReading(at: moment)
    }

    private mutating func beginReading(at moment: Moment) {
        self.queries = [.trackables(after: nil)]
        self.outstanding = nil
        self.earliest = moment.now.advanced(by: Self.pauses[self.reading])
    }

    // MARK: - Reading

    /// The time from which on ``nextRead(clearings:at:)`` returns the next request for a page; `nil` while an answer is
    /// awaited or the gateway is not connected.
    var deadline: MonotonicTime? { self.outstanding == nil ? self.earliest : nil }

    /// Returns the request for the next page of the history; `nil` while the time of the next request has not come, an
    /// answer is awaited, or no page is left.
    ///
    /// - Parameter clearings: The number of times that a trackable's position was cleared since the gateway started.
    mutating func nextRead(clearings: Int, at moment: Moment) -> HistoryRead? {
        guard let times = self.times, let deadline = self.deadline, deadline <= moment.now,
            let query = self.queries.last
        else { return nil }
        self.readNumber += 1
        let read = HistoryRead(query: query, times: times, number: self.readNumber)
        self.outstanding = (read, clearings)
        return read
    }

    /// Schedules another attempt after a page of the history could not be read: after 1 s, then twice as long each
    /// time, at most 30 s.
    mutating func readFailed(_ read: HistoryRead, at moment: Moment) {
        guard self.outstanding?.read == read else { return }
        self.outstanding = nil
        self.earliest = moment.now.advanced(by: self.backoff)
        self.backoff = min(self.backoff * 2, Self.maximumBackoff)
    }

    /// Handles a page that was read from the history.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - read: The request that the page answers.
    ///   - kinds: The kinds of messages that webhooks receive.
    ///   - clearings: The number of times that a trackable's position was cleared since the gateway started.
    ///   - hasRoom: `false` if messages that were received during the reading left no room in memory for the page.
    /// - Returns: `true` if the page is valid, so that its missed records can be queued. `false` if the request is out
    ///   of date, if a trackable was cleared during the reading, or if there is no room. In the last two cases the same
    ///   page is requested again.
    mutating func didRead(
        _ page: HistoryPage, for read: HistoryRead, kinds: Set<Outbox.Kind>, clearings: Int, hasRoom: Bool,
        at moment: Moment
    ) -> Bool {
        guard let outstanding = self.outstanding, outstanding.read == read else { return false }
        self.outstanding = nil
        self.earliest = moment.now
        self.backoff = Self.minimumBackoff
        guard outstanding.clearings == clearings, hasRoom else { return false }
        self.queries.removeLast()
        self.queries += Self.following(page, read, kinds)
        return true
    }

    /// Ends the present reading of the history if no page is left to request. The history is read several times;
    /// schedules the next reading.
    ///
    /// - Returns: `true` when that was the last reading.
    mutating func finishReading(at moment: Moment) -> Bool {
        guard self.until != nil, self.queries.isEmpty else { return false }
        self.hasReadOnce = true
        self.reading += 1
        guard self.reading < Self.pauses.count else { return true }
        self.beginReading(at: moment)
        return false
    }

    /// Returns the requests that an answered page makes necessary; the next request is the last element.
    ///
    /// A page of trackables is followed by requests for the events, trips and points of each of these trackables. A
    /// full page is followed by a request for the next page of the same kind.
    private static func following(
        _ page: HistoryPage, _ read: HistoryRead, _ kinds: Set<Outbox.Kind>
    ) -> [HistoryRead.Query] {
        switch (page, read.query) {
        case (.trackables(let ids), _):
            let next = Self.last(of: ids).map { [HistoryRead.Query.trackables(after: $0)] } ?? []
            return next
                + ids.reversed().flatMap { id in
                    [.points(id, after: nil), .trips(id, after: nil), .events(id, after: nil)]
                        .filter { $0.kind.map(kinds.contains) ?? true }
                }
        case (.events(let events), .events(let id, _)):
            return Self.last(of: events).map { [.events(id, after: $0)] } ?? []
        case (.trips(let trips), .trips(let id, _)):
            return Self.last(of: trips).map { [.trips(id, after: $0)] } ?? []
        case (.points(let points), .points(let id, _)):
            return points.next.map { [.points(id, after: $0)] } ?? []
        default:
            return []
        }
    }

    /// Returns the last record of a full page; the next page begins after this record. Returns `nil` if the page is not
    /// full, because no page follows it.
    private static func last<Record>(of page: [Record]) -> Record? {
        page.count < HistoryRead.pageSize ? nil : page.last
    }

    // MARK: - Records

    /// Remembers that the records with these names were queued for webhooks, so that they do not count as missed.
    mutating func didQueue(_ names: [RecordName], of id: TrackableID) {
        for name in names { self.queued[id, default: [:]][name.stream, default: SeqSet()].insert(name.seq) }
    }

    /// Returns `true` if a record from the history was not queued for webhooks, as far as the watermarks and the
    /// numbers of queued records show. The record counts as queued from then on.
    mutating func isMissed(_ kind: Outbox.Kind, _ name: RecordName, of id: TrackableID) -> Bool {
        let mark = self.watermarks.marks[.init(trackable: id, kind: kind, stream: name.stream)]
        guard mark.map({ name.seq > $0.seq }) ?? true, self.queued[id]?[name.stream]?.contains(name.seq) != true
        else { return false }
        self.didQueue([name], of: id)
        return true
    }

    /// Returns `true` if a version of a trip was not queued for webhooks, as far as the watermarks and the numbers of
    /// queued records show. The version counts as queued from then on.
    mutating func isMissed(_ trip: Trip, of id: TrackableID) -> Bool {
        var trips = self.tripWatermarks
        return trips.advance(to: trip, of: id)
            && self.isMissed(.trip, RecordName(stream: trip.stream, seq: trip.seq), of: id)
    }
}

extension HistoryRead.Query {
    /// The kind of webhook message into which the requested records are turned; `nil` for a request of trackables.
    fileprivate var kind: Outbox.Kind? {
        switch self {
        case .trackables: nil
        case .events: .event
        case .trips: .trip
        case .points: .position
        }
    }
}
