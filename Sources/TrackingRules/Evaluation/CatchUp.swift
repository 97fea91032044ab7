import TrackingCore
import TrackingStore

/// Decides which records of the history webhooks missed while the gateway was not connected to the broker, and which page of the
/// history to read next.
///
/// The history is read twice: one second after the broker's retained messages arrived, and once more 60 seconds after the first
/// reading, since devices send their recordings in batches.
struct CatchUp: Sendable {
    /// The pauses before the two readings of the history.
    private static let pauses: [Duration] = [.seconds(1), .seconds(60)]
    /// The tolerance for records older or newer than the gap. Clocks differ, and a lost connection is noticed late.
    static let tolerance = Duration.seconds(300)

    /// The time of the last record that was received before the gap.
    let since: UnixTime
    /// The end of the gap; `nil` while the gateway is not connected.
    private(set) var until: UnixTime?
    /// `true` once the history was read completely for the first time since the gap ended.
    private(set) var hasReadOnce = false

    /// The watermarks at the beginning of the gap.
    private let watermarks: RecordWatermarks
    private let tripWatermarks: TripWatermarks
    /// The records that were queued since the beginning of the gap.
    private var queued: [TrackableID: [StreamID: SeqSet]] = [:]
    /// The pages of the present reading that are not read yet; the next one is the last element.
    private var queries: [HistoryRead.Query] = []
    private var reading = 0
    private var readNumber = 0
    /// The read whose answer is awaited, and the number of cleared trackables when it began.
    private var outstanding: (read: HistoryRead, clearings: Int)?
    /// The time before which nothing is read.
    private var earliest: MonotonicTime?
    private var backoff = Self.minimumBackoff

    private static let minimumBackoff = Duration.seconds(1)
    private static let maximumBackoff = Duration.seconds(30)

    /// Begins a gap.
    ///
    /// - Parameters:
    ///   - since: The time of the last record that was received.
    ///   - watermarks: The records that were queued before the gap.
    ///   - tripWatermarks: The trips that were queued before the gap.
    init(since: UnixTime, watermarks: RecordWatermarks, tripWatermarks: TripWatermarks) {
        self.since = since
        self.watermarks = watermarks
        self.tripWatermarks = tripWatermarks
    }

    /// The times of the records to read; `nil` while the gateway is not connected.
    private var times: TimeSpan? {
        self.until.map {
            TimeSpan(from: self.since.advanced(by: .zero - Self.tolerance), to: $0.advanced(by: Self.tolerance))
        }
    }

    // MARK: - The gap

    /// Extends the gap: the connection was lost again.
    mutating func connectionLost() {
        self.until = nil
        self.hasReadOnce = false
        self.outstanding = nil
        self.earliest = nil
    }

    /// Ends the gap: all retained messages were received. The first reading is due after a pause.
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

    /// The time at which ``nextRead(clearings:at:)`` returns the next page; `nil` while an answer is awaited.
    var deadline: MonotonicTime? { self.outstanding == nil ? self.earliest : nil }

    /// Returns the next page to read, if one is due.
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

    /// Backs off after a page could not be read: 1 s, twice as long each time, at most 30 s.
    mutating func readFailed(_ read: HistoryRead, at moment: Moment) {
        guard self.outstanding?.read == read else { return }
        self.outstanding = nil
        self.earliest = moment.now.advanced(by: self.backoff)
        self.backoff = min(self.backoff * 2, Self.maximumBackoff)
    }

    /// Accepts the answer to a read.
    ///
    /// - Returns: `true` when the page is to be queued. `false` when the answer is out of date, or a trackable was cleared
    ///   meanwhile: the same page is then read again.
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

    /// Ends the present reading when no page is left.
    ///
    /// - Returns: `true` when it was the last reading.
    mutating func finishReading(at moment: Moment) -> Bool {
        guard self.until != nil, self.queries.isEmpty else { return false }
        self.hasReadOnce = true
        self.reading += 1
        guard self.reading < Self.pauses.count else { return true }
        self.beginReading(at: moment)
        return false
    }

    /// Returns the queries that follow from a page, the next one last.
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

    /// Notes records that were queued for webhooks.
    mutating func didQueue(_ names: [RecordName], of id: TrackableID) {
        for name in names { self.queued[id, default: [:]][name.stream, default: SeqSet()].insert(name.seq) }
    }

    /// Returns `true` when webhooks missed a record of the history, and counts the record as queued.
    mutating func isMissed(_ kind: Outbox.Kind, _ name: RecordName, of id: TrackableID) -> Bool {
        let mark = self.watermarks.marks[.init(trackable: id, kind: kind, stream: name.stream)]
        guard mark.map({ name.seq > $0.seq }) ?? true, self.queued[id]?[name.stream]?.contains(name.seq) != true
        else { return false }
        self.didQueue([name], of: id)
        return true
    }

    /// Returns `true` when webhooks missed a version of a trip, and counts the version as queued.
    mutating func isMissed(_ trip: Trip, of id: TrackableID) -> Bool {
        var trips = self.tripWatermarks
        return trips.advance(to: trip, of: id)
            && self.isMissed(.trip, RecordName(stream: trip.stream, seq: trip.seq), of: id)
    }
}

extension HistoryRead.Query {
    /// The kind of message of the query's records; `nil` for trackables.
    fileprivate var kind: Outbox.Kind? {
        switch self {
        case .trackables: nil
        case .events: .event
        case .trips: .trip
        case .points: .position
        }
    }
}
