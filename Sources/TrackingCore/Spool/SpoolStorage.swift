/// Keeps the records of one device's log: real in a file (`SQLiteSpool`), in memory for tests (`InMemorySpool`).
///
/// What is called comes into force in the order of the calls. An error concerns the one call: nothing of it was done, and
/// the next is tried anew. Of ``SpoolStorage/remove(_:of:)`` alone, a power cut may undo the last calls.
public protocol SpoolStorage: Sendable {
    /// Where its work is done: a task that asks much of it asks from there without a change of threads. `nil` where it is done on the
    /// thread that asks. Such a task must never block.
    var executor: (any TaskExecutor)? { get }

    /// Opens the log, or begins one where there is none.
    ///
    /// A damaged log is set aside whole, and what can be read of it is taken over: ``SpoolContents/salvage``. Where there is no room
    /// for that it may be used as it is until it is opened the next time: ``SpoolContents/damage``.
    ///
    /// - Parameter now: Names what is set aside.
    /// - Throws: `spoolFailed` when it cannot be read, made, or when another program has it open.
    func open(now: UnixTime) async throws(TrackingError) -> SpoolContents

    /// Adds records, and sets small values of the publisher's with them. Durable on return, all or nothing.
    ///
    /// A stream that is not known yet begins with its first record; the one that its trackable had before it ends. What has a
    /// mark is known by it from now on, in the same transaction: ``known(_:of:)``.
    ///
    /// - Parameters:
    ///   - records: At most 10,000.
    ///   - state: New values, by name; `nil` removes one.
    ///   - now: Marks from more than ``RecordMark/maximumAge`` before may go.
    ///   - knowsAges: Whether `now` tells how old marks are: where it does not none goes for its age.
    /// - Throws: `spoolFailed` when the disk is full or fails: the numbers count as given out. `spoolDamaged` when the log
    ///   is damaged: close it and open it again.
    func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime, knowsAges: Bool
    ) async throws(TrackingError)

    /// The names that records of these marks were given, also when they are not in the log any more.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func known(_ marks: [RecordMark], of trackable: TrackableID) async throws(TrackingError) -> [RecordMark: RecordName]

    /// Reads records, in order of `seq`: as many of the first as `maximumCount`, and as have `maximumBytes` of payload
    /// together, but at least one where one is there. What is missing is gone from then on, and not ``known(_:of:)`` any more.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func read(
        _ stream: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int
    ) async throws(TrackingError) -> SpoolReading

    /// Removes records that are safe elsewhere. After a power cut some may be there again.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func remove(_ seqs: SeqSet, of stream: StreamID) async throws(TrackingError)

    /// The records that are in the log, in the order in which they were added: at most `maximumCount` of those after one place
    /// and up to another. Damaged ones are passed over.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func waiting(
        after place: Int64, through last: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [WaitingRecord]

    /// Sets a record aside that nobody takes; it is no record of its stream any more.
    ///
    /// - Parameter reason: Why, to read: at most 500 bytes are kept.
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func quarantine(_ seq: UInt64, of stream: StreamID, reason: String) async throws(TrackingError)

    /// The records set aside, oldest first, at most `maximumCount` of those after `place`.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func quarantined(after place: Int64, maximumCount: Int) async throws(TrackingError) -> [QuarantinedRecord]

    /// Puts records that were set aside back in line: they are appended under new names, are known by what they were known by
    /// before, and are set aside no more. Durable on return, all or nothing.
    ///
    /// - Parameters:
    ///   - records: At most 10,000, with numbers that were never given out.
    ///   - stream: See ``append(_:state:now:)``.
    /// - Throws: `spoolFailed` also where one of them is not set aside any more; `spoolDamaged`. The numbers count as given out.
    func putBack(
        _ records: [PutBackRecord], of trackable: TrackableID, in stream: StreamID
    ) async throws(TrackingError)

    /// Deletes records that were set aside: `nil` for all. Returns how many.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func dropQuarantined(_ places: [Int64]?) async throws(TrackingError) -> Int

    /// Forgets a stream that has no records; one that has some stays. Records that are set aside stay.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func forget(_ stream: StreamID) async throws(TrackingError)

    /// Lets the oldest records go until the limits are kept, in the order in which they were added.
    ///
    /// - Returns: What went; not all that should where something failed behind it.
    /// - Throws: `spoolFailed`, `spoolDamaged`: nothing went.
    func trim(to limits: SpoolLimits, now: UnixTime) async throws(TrackingError) -> [SpoolPart]

    /// How much there is.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`.
    func summary() async throws(TrackingError) -> SpoolSummary

    /// Erases the records of a trackable that are of an earlier time, or all of them (`nil`), set aside or not, and overwrites what
    /// the log still has of removed records of any trackable. Numbers of erased records are gone.
    ///
    /// - Throws: `spoolFailed`, `spoolDamaged`: some of it may be left.
    func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError)

    /// Closes the log in order: its streams go on when it is opened the next time. A log that is not open stays as it is.
    ///
    /// - Throws: `spoolFailed`: the streams end here.
    func close() async throws(TrackingError)
}

extension SpoolStorage {
    /// Does nothing: a log in memory leaves nothing behind, and its records go out as they are.
    public func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError) {}

    /// Adds records by a clock that is right: see ``append(_:state:now:knowsAges:)``.
    public func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime
    ) async throws(TrackingError) {
        try await self.append(records, state: state, now: now, knowsAges: true)
    }

    /// Adds records without marks: see ``append(_:state:now:knowsAges:)``.
    public func append(_ records: [SpoolEntry], state: [String: [UInt8]?] = [:]) async throws(TrackingError) {
        try await self.append(records, state: state, now: UnixTime(0), knowsAges: false)
    }
}

/// A record, and where it belongs.
public struct SpoolEntry: Hashable, Sendable {
    /// Whose it is.
    public var trackable: TrackableID
    /// The stream that its number counts in.
    public var stream: StreamID
    /// The record.
    public var record: SpoolRecord
    /// What it is known by when it comes again; `nil`, as always in what is read, for nothing.
    public var mark: RecordMark?

    /// Its name.
    public var name: RecordName { RecordName(stream: self.stream, seq: self.record.seq) }

    /// Makes an entry.
    public init(
        _ record: SpoolRecord, of trackable: TrackableID, in stream: StreamID, mark: RecordMark? = nil
    ) {
        self.trackable = trackable
        self.stream = stream
        self.record = record
        self.mark = mark
    }
}

/// What was read.
public struct SpoolReading: Hashable, Sendable {
    /// The records that are whole.
    public var records: SpoolRecords
    /// Those between them that are not there, or were damaged: they are not in the log any more.
    public var missing: SeqSet

    /// Makes a reading.
    public init(records: SpoolRecords = [], missing: SeqSet = SeqSet()) {
        self.records = records
        self.missing = missing
    }
}

/// Records of one stream.
public struct SpoolPart: Hashable, Sendable {
    /// Whose they are.
    public var trackable: TrackableID
    /// The stream that the numbers count in.
    public var stream: StreamID
    /// Their numbers.
    public var seqs: SeqSet

    /// Makes a part.
    public init(trackable: TrackableID, stream: StreamID, seqs: SeqSet) {
        self.trackable = trackable
        self.stream = stream
        self.seqs = seqs
    }
}

/// What a log holds when it is opened.
public struct SpoolContents: Hashable, Sendable {
    /// What it holds of one trackable.
    public struct Trackable: Hashable, Sendable {
        /// Its streams, oldest first.
        public var streams: [StoredStream]
        /// The one of them that goes on; `nil` when a new one has to begin.
        public var current: StreamID?

        /// Makes a description.
        public init(streams: [StoredStream] = [], current: StreamID? = nil) {
            self.streams = streams
            self.current = current
        }
    }

    /// By trackable.
    public var trackables: [TrackableID: Trackable]
    /// The publisher's own values.
    public var state: [String: [UInt8]]
    /// What became of a damaged log; `nil` when it was whole.
    public var salvage: SpoolSalvage?
    /// What is wrong with a damaged log that is used as it is, for there is no room to take over what is whole of it, to read.
    public var damage: String?

    /// Makes a description.
    public init(
        trackables: [TrackableID: Trackable] = [:], state: [String: [UInt8]] = [:], salvage: SpoolSalvage? = nil,
        damage: String? = nil
    ) {
        self.trackables = trackables
        self.state = state
        self.salvage = salvage
        self.damage = damage
    }
}

/// What became of a damaged log.
public struct SpoolSalvage: Hashable, Sendable {
    /// The file that was set aside.
    public var path: String
    /// What was wrong with it, to read.
    public var reason: String
    /// How many records were taken over.
    public var count: Int
    /// The numbers between the oldest and the last known that are not there; some of them may have been sent.
    public var missing: [SpoolPart]
    /// How many records were there whose stream is not known any more: they are in the file that was set aside alone.
    public var orphans: Int
    /// How many files of damaged logs there are by now, this one's included.
    public var keptFiles: Int
    /// Their size in bytes.
    public var keptBytes: Int

    /// Makes a report.
    public init(
        path: String, reason: String, count: Int = 0, missing: [SpoolPart] = [], orphans: Int = 0, keptFiles: Int = 0,
        keptBytes: Int = 0
    ) {
        self.path = path
        self.reason = reason
        self.count = count
        self.missing = missing
        self.orphans = orphans
        self.keptFiles = keptFiles
        self.keptBytes = keptBytes
    }
}

/// A record in the log.
public struct WaitingRecord: Hashable, Sendable {
    /// Names it, for as long as it is there; what was added later has a higher place.
    public var place: Int64
    /// The record, and where it belongs.
    public var entry: SpoolEntry

    /// Makes a description.
    public init(place: Int64, entry: SpoolEntry) {
        self.place = place
        self.entry = entry
    }
}

/// A record that was set aside.
public struct QuarantinedRecord: Hashable, Sendable {
    /// Names it, for as long as it is there; later ones have higher places.
    public var place: Int64
    /// The record, and where it belongs.
    public var entry: SpoolEntry
    /// Why.
    public var reason: String

    /// Makes a description.
    public init(place: Int64, entry: SpoolEntry, reason: String) {
        self.place = place
        self.entry = entry
        self.reason = reason
    }
}

/// A record that was set aside and is to be put back in line.
public struct PutBackRecord: Hashable, Sendable {
    /// Its place among those set aside.
    public var place: Int64
    /// The record under its new name.
    public var record: SpoolRecord

    /// Makes a description.
    public init(place: Int64, record: SpoolRecord) {
        self.place = place
        self.record = record
    }
}

/// How much a log may hold.
public struct SpoolLimits: Hashable, Sendable {
    /// The most records, ≥ 0.
    public var maximumCount: Int?
    /// The most bytes of payload, ≥ 0.
    public var maximumBytes: Int?
    /// The greatest age. A record from before 2001 or from the future was made without a known time: it counts as young
    /// as the next whose time is known.
    public var maximumAge: Duration?

    /// Makes limits; `nil` is none.
    public init(maximumCount: Int? = nil, maximumBytes: Int? = nil, maximumAge: Duration? = nil) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
        self.maximumAge = maximumAge
    }
}

/// How much a log holds.
public struct SpoolSummary: Hashable, Sendable {
    /// By trackable.
    public var trackables: [TrackableID: SpoolAmount]
    /// Records that were let go to keep to limits, in the life of the log.
    public var dropped: Int
    /// Records set aside.
    public var quarantined: Int
    /// The place of the record that was added last; 0 when none ever was.
    public var lastPlace: Int64

    /// All trackables together.
    public var total: SpoolAmount { self.trackables.values.reduce(into: SpoolAmount()) { $0.add($1) } }

    /// Makes a summary.
    public init(
        trackables: [TrackableID: SpoolAmount] = [:], dropped: Int = 0, quarantined: Int = 0, lastPlace: Int64 = 0
    ) {
        self.trackables = trackables
        self.dropped = dropped
        self.quarantined = quarantined
        self.lastPlace = lastPlace
    }
}

/// An amount of records.
public struct SpoolAmount: Hashable, Sendable {
    /// Captured points.
    public var points: Int
    /// Versions of trips.
    public var trips: Int
    /// Events.
    public var events: Int
    /// The bytes of their payloads.
    public var bytes: Int
    /// The time of the record that was added first, of several trackables the earliest such time; `nil` when there is none.
    public var oldest: UnixTime?

    /// Records of all kinds.
    public var count: Int { self.points + self.trips + self.events }

    /// Makes an amount.
    public init(points: Int = 0, trips: Int = 0, events: Int = 0, bytes: Int = 0, oldest: UnixTime? = nil) {
        self.points = points
        self.trips = trips
        self.events = events
        self.bytes = bytes
        self.oldest = oldest
    }

    /// Adds another amount.
    public mutating func add(_ other: SpoolAmount) {
        self.points += other.points
        self.trips += other.trips
        self.events += other.events
        self.bytes += other.bytes
        self.oldest = [self.oldest, other.oldest].compactMap { $0 }.min()
    }
}
