import TrackingCore
import TrackingStore

/// The last number of each stream that webhooks were told of, by kind: what a history has above it they were not.
struct ToldRecords: Sendable {
    /// What is counted by itself.
    struct Key: Hashable, Sendable {
        var trackable: TrackableID
        var kind: Outbox.Kind
        var stream: StreamID
    }

    /// The last of its kind.
    struct Mark: Hashable, Sendable {
        var seq: UInt64
        /// When it was told.
        var time: UnixTime
    }

    private(set) var marks: [Key: Mark]
    private var changed: Set<Key> = []

    /// Starts with what was kept.
    init(_ marks: [Key: Mark] = [:]) { self.marks = marks }

    /// These were told.
    mutating func told(_ kind: Outbox.Kind, _ names: [RecordName], of id: TrackableID, now: UnixTime) {
        for name in names {
            let key = Key(trackable: id, kind: kind, stream: name.stream)
            self.marks[key] = Mark(seq: max(name.seq, self.marks[key]?.seq ?? 0), time: now)
            self.changed.insert(key)
        }
    }

    /// Streams of which nothing was told since then are not looked for in a history any more.
    mutating func forget(before time: UnixTime) { self.marks = self.marks.filter { $0.value.time >= time } }

    /// What is to be kept, of what changed since the last call.
    mutating func takeChanges() -> [(Key, Mark)] {
        defer { self.changed = [] }
        return self.changed.compactMap { key in self.marks[key].map { (key, $0) } }
    }
}

/// What webhooks were not told since the gateway stopped listening, and are to be told from the history: decides what of the history
/// that is.
struct MissedRecords: Sendable {
    /// Since when nobody listened.
    let since: UnixTime
    /// Until when; `nil` while nobody listens.
    var until: UnixTime?
    /// Whether the history was looked through since.
    var isToldOnce = false
    /// What was told before that.
    private let before: ToldRecords
    private let trips: ToldTrips
    /// What was told since.
    private var told: [TrackableID: [StreamID: SeqSet]] = [:]

    /// So much may records be older, or newer, than they were heard: clocks differ, and that a connection is gone shows late.
    static let disorder = Duration.seconds(300)

    /// - Parameters:
    ///   - before: The last numbers that were told.
    ///   - trips: The last trips that were.
    init(since: UnixTime, before: ToldRecords, trips: ToldTrips) {
        self.since = since
        self.before = before
        self.trips = trips
    }

    /// The times in which the history is looked through; `nil` while nobody listens.
    var times: TimeSpan? {
        self.until.map {
            TimeSpan(from: self.since.advanced(by: .zero - Self.disorder), to: $0.advanced(by: Self.disorder))
        }
    }

    /// These were told.
    mutating func told(_ names: [RecordName], of id: TrackableID) {
        for name in names { self.told[id, default: [:]][name.stream, default: SeqSet()].insert(name.seq) }
    }

    /// Whether a record of the history is to be told; it counts as told then.
    mutating func isMissed(_ kind: Outbox.Kind, _ name: RecordName, of id: TrackableID) -> Bool {
        let mark = self.before.marks[.init(trackable: id, kind: kind, stream: name.stream)]
        guard mark.map({ name.seq > $0.seq }) ?? true, self.told[id]?[name.stream]?.contains(name.seq) != true else {
            return false
        }
        self.told([name], of: id)
        return true
    }

    /// The same of a version of a trip.
    mutating func isMissed(_ trip: Trip, of id: TrackableID) -> Bool {
        var trips = self.trips
        return trips.isNews(trip, of: id)
            && self.isMissed(.trip, RecordName(stream: trip.stream, seq: trip.seq), of: id)
    }
}
