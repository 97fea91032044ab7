import TrackingCore
import TrackingStore

/// Decides which records of the history are queued for webhooks because the gateway missed them while it was not
/// connected to the broker (the gap), and which page of the history to read next.
///
/// The history is read twice: one second after the broker's retained messages arrived, and again 60 seconds after the
/// first reading, because devices send their recordings in batches.
struct CatchUp: Sendable {
    /// The pauses before the first and the second reading of the history.
    private static let pauses: [Duration] = [.seconds(1), .seconds(60)]
    /// The time before and after the gap in the gateway's connection from which records are read as well. Clocks
    /// differ, and a lost connection is noticed late.
    static let tolerance = Duration.seconds(300)

    /// The time at which the gap in the gateway's connection to the broker began: that of the last record that was
    /// received before the gap.
    let since: UnixTime
    /// The time at which the gap in the gateway's connection to the broker ended; `nil` while the gateway is not
    /// connected.
    private(set) var until: UnixTime?
    /// `true` once the history of the gap was read completely, at least once since the gateway is connected to the
    /// broker again.
    private(set) var hasReadOnce = false

    /// The watermarks of the records that were queued for webhooks before the gap in the gateway's connection.
    private let watermarks: RecordWatermarks
    private let tripWatermarks: TripWatermarks
    /// The records that were queued for webhooks since the gap in the gateway's connection began.
    private var queued: [TrackableID: [StreamID: SeqSet]] = [:]
    /// The pages of the present reading that remain to be read; the next one is the last element.
    private var queries: [HistoryRead.Query] = []
    private var reading = 0
    private var readNumber = 0
    /// The read whose answer is awaited, with the number of cleared trackables at its beginning; `nil` if no answer is
    /// awaited.
    private var outstanding: (read: HistoryRead, clearings: Int)?
    /// The time before which nothing is read; `nil` while the gateway is not connected.
    private var earliest: MonotonicTime?
    private var backoff = Self.minimumBackoff

    private static let minimumBackoff = Duration.seconds(1)
    private static let maximumBackoff = Duration.seconds(30)

    /// Begins a gap in the gateway's connection to the broker.
    ///
    /// - Parameters:
    ///   - since: The time of the last record that was received before the gap.
    ///   - watermarks: The records that were queued for webhooks before the gap.
    ///   - tripWatermarks: The trips that were queued for webhooks before the gap.
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

    /// Extends the gap, because the gateway lost its connection to the broker again.
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

    /// The time at which ``nextRead(clearings:at:)`` returns the next page of the history; `nil` while an answer is
    /// awaited or the gateway is not connected.
    var deadline: MonotonicTime? { self.outstanding == nil ? self.earliest : nil }

    /// Returns the next page of the history to read; `nil` if none is due.
    ///
    /// - Parameter clearings: The number of trackables that were cleared so far.
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

    /// Handles the answer to the reading of a page.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - read: The read that the page answers.
    ///   - kinds: The kinds of messages that webhooks receive.
    ///   - clearings: The number of trackables that were cleared so far.
    /// - Returns: `true` when the missed records of the page are to be queued. `false` when the answer is out of date,
    ///   or when a trackable was cleared during the reading; the same page is then read again.
    mutating func didRead(
        _ page: HistoryPage, for read: HistoryRead, kinds: Set<Outbox.Kind>, clearings: Int, at moment: Moment
    ) -> Bool {
        guard let outstanding = self.outstanding, outstanding.read == read else { return false }
        self.outstanding = nil
        self.earliest = moment.now
        self.backoff = Self.minimumBackoff
        guard outstanding.clearings == clearings else { return false }
        self.queries.removeLast()
        self.queries += Self.following(page, read, kinds)
        return true
    }

    /// Ends the present reading of the history when no page is left, and begins the next one.
    ///
    /// - Returns: `true` when the last reading ended.
    mutating func finishReading(at moment: Moment) -> Bool {
        guard self.until != nil, self.queries.isEmpty else { return false }
        self.hasReadOnce = true
        self.reading += 1
        guard self.reading < Self.pauses.count else { return true }
        self.beginReading(at: moment)
        return false
    }

    /// Returns the queries that follow from a page of the history, the next query last.
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

    /// Returns the last record of a full page; `nil` for the last page.
    private static func last<Record>(of page: [Record]) -> Record? {
        page.count < HistoryRead.pageSize ? nil : page.last
    }

    // MARK: - Records

    /// Notes that records of a trackable were queued for webhooks.
    mutating func didQueue(_ names: [RecordName], of id: TrackableID) {
        for name in names { self.queued[id, default: [:]][name.stream, default: SeqSet()].insert(name.seq) }
    }

    /// Returns `true` when a record of the history was never queued for webhooks, and notes that it is queued now.
    mutating func isMissed(_ kind: Outbox.Kind, _ name: RecordName, of id: TrackableID) -> Bool {
        let mark = self.watermarks.marks[.init(trackable: id, kind: kind, stream: name.stream)]
        guard mark.map({ name.seq > $0.seq }) ?? true, self.queued[id]?[name.stream]?.contains(name.seq) != true
        else { return false }
        self.didQueue([name], of: id)
        return true
    }

    /// Returns `true` when a version of a trip was never queued for webhooks, and notes that it is queued now.
    mutating func isMissed(_ trip: Trip, of id: TrackableID) -> Bool {
        var trips = self.tripWatermarks
        return trips.advance(to: trip, of: id)
            && self.isMissed(.trip, RecordName(stream: trip.stream, seq: trip.seq), of: id)
    }
}

extension HistoryRead.Query {
    /// The kind of webhook message that the query's records become; `nil` for a query of trackables.
    fileprivate var kind: Outbox.Kind? {
        switch self {
        case .trackables: nil
        case .events: .event
        case .trips: .trip
        case .points: .position
        }
    }
}
