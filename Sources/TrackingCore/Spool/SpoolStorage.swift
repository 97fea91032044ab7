/// The storage of a device's log: the records (points, trips, events) that are not safely stored elsewhere yet.
/// `SQLiteSpool` stores them in a file, ``InMemorySpool`` in memory for tests.
///
/// Calls take effect in order. An error applies only to its own call: that call changed nothing, and later calls may
/// succeed. After a power failure, the last calls of ``SpoolStorage/remove(_:of:)`` may be undone, but no others.
public protocol SpoolStorage: Sendable {
    /// The executor of the storage. A task that calls the storage often can run on it to avoid thread changes; such a
    /// task must never block. `nil` when the storage works on the caller's thread.
    var executor: (any TaskExecutor)? { get }

    /// Opens the log, or creates it if there is none.
    ///
    /// A damaged log is moved aside as a whole, and its readable records are recovered into a new log
    /// (``SpoolContents/salvage``). Without enough disk space for that, the damaged log is used as it is until it is
    /// opened again (``SpoolContents/damage``).
    ///
    /// - Parameter now: The wall clock; it appears in the name of a file that is moved aside.
    /// - Returns: The streams and values that the log contains.
    /// - Throws: ``TrackingError/Code/spoolFailed`` when the log cannot be read or created, or another program has
    ///   opened it.
    func open(now: UnixTime) async throws(TrackingError) -> SpoolContents

    /// Appends records and sets small values of the publisher together. Durable on return, all or nothing.
    ///
    /// An unknown stream begins with its first record and ends the previous stream of its trackable. A record with a
    /// mark can be found by it from then on, in the same transaction: ``known(_:of:)``.
    ///
    /// - Parameters:
    ///   - records: The records, at most 10,000.
    ///   - state: New values by name; `nil` removes a value.
    ///   - now: The wall clock. Marks added more than ``RecordMark/maximumAge`` before may be removed.
    ///   - knowsAges: `true` when `now` is reliable. Otherwise, no mark is removed for its age.
    /// - Throws: ``TrackingError/Code/spoolFailed`` when the disk is full or fails; the numbers of the records count as
    ///   assigned. ``TrackingError/Code/spoolDamaged`` when the log is damaged; close it and open it again.
    func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime, knowsAges: Bool
    ) async throws(TrackingError)

    /// Returns the names (stream and number) of the records with these marks, including those that left the log.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func known(_ marks: [RecordMark], of trackable: TrackableID) async throws(TrackingError) -> [RecordMark: RecordName]

    /// Reads records in order of `seq`. Missing and damaged records are removed from the log together with their marks.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - seqs: The numbers.
    ///   - maximumCount: The maximum number of records.
    ///   - maximumBytes: The maximum number of payload bytes; at least one record is returned regardless.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func read(
        _ stream: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int
    ) async throws(TrackingError) -> SpoolReading

    /// Removes records that are safely stored elsewhere. After a power failure, some may exist again.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func remove(_ seqs: SeqSet, of stream: StreamID) async throws(TrackingError)

    /// Returns the records in the log in the order in which they were appended, without damaged ones.
    ///
    /// - Parameters:
    ///   - place: The place after which to begin; 0 for the first record. See ``WaitingRecord/place``.
    ///   - last: The last place to return.
    ///   - maximumCount: The maximum number of records.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func waiting(
        after place: Int64, through last: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [WaitingRecord]

    /// Quarantines a record that can never be accepted. The record no longer belongs to its stream.
    ///
    /// - Parameters:
    ///   - seq: The record's number.
    ///   - stream: The record's stream.
    ///   - reason: The reason, to read; at most 500 bytes are stored.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func quarantine(_ seq: UInt64, of stream: StreamID, reason: String) async throws(TrackingError)

    /// Returns the quarantined records with a place above `place` (0: all), oldest first, at most `maximumCount`.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func quarantined(after place: Int64, maximumCount: Int) async throws(TrackingError) -> [QuarantinedRecord]

    /// Returns quarantined records to the backlog: appends them under new names with their previous marks, and removes
    /// them from quarantine. Durable on return, all or nothing.
    ///
    /// - Parameters:
    ///   - records: The records, at most 10,000, with numbers that were never assigned.
    ///   - trackable: The trackable of the records.
    ///   - stream: The stream to append to; see ``append(_:state:now:knowsAges:)``.
    /// - Throws: ``TrackingError/Code/spoolFailed``, also when a record is no longer quarantined;
    ///   ``TrackingError/Code/spoolDamaged``. The numbers count as assigned.
    func putBack(
        _ records: [PutBackRecord], of trackable: TrackableID, in stream: StreamID
    ) async throws(TrackingError)

    /// Deletes the quarantined records with these places; `nil` deletes all quarantined records.
    ///
    /// - Returns: The number of deleted records.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func dropQuarantined(_ places: [Int64]?) async throws(TrackingError) -> Int

    /// Forgets a stream without records; a stream with records remains. Quarantined records remain.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func forget(_ stream: StreamID) async throws(TrackingError)

    /// Removes the oldest records, in order of appending, until the log complies with the limits.
    ///
    /// - Returns: The removed records. After an error in between, some surplus records remain.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged`` when no record was removed.
    func trim(to limits: SpoolLimits, now: UnixTime) async throws(TrackingError) -> [SpoolPart]

    /// Returns the number and size of the records in the log.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func summary() async throws(TrackingError) -> SpoolSummary

    /// Erases the records of a trackable before a time, or all with `nil`, including quarantined ones. Also overwrites
    /// the remains of removed records of any trackable. The numbers of erased records are gone.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``; some of the records may
    ///   remain.
    func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError)

    /// Closes the log in order, so that its streams continue when it is opened again. Does nothing when the log is not
    /// open.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed``; the streams then end.
    func close() async throws(TrackingError)
}

extension SpoolStorage {
    /// Does nothing: a log in memory leaves no remains on a disk.
    public func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError) {}

    /// Appends records with a reliable clock; see ``append(_:state:now:knowsAges:)``.
    public func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime
    ) async throws(TrackingError) {
        try await self.append(records, state: state, now: now, knowsAges: true)
    }

    /// Appends records without marks; see ``append(_:state:now:knowsAges:)``.
    public func append(_ records: [SpoolEntry], state: [String: [UInt8]?] = [:]) async throws(TrackingError) {
        try await self.append(records, state: state, now: UnixTime(0), knowsAges: false)
    }
}

/// A record with its trackable and stream.
public struct SpoolEntry: Hashable, Sendable {
    /// The trackable of the record.
    public var trackable: TrackableID
    /// The stream that numbers the record.
    public var stream: StreamID
    /// The record.
    public var record: SpoolRecord
    /// The mark that identifies the record when it is received again; `nil` for none. Always `nil` in records that were
    /// read.
    public var mark: RecordMark?

    /// The record's name.
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

/// The result of a read.
public struct SpoolReading: Hashable, Sendable {
    /// The readable records.
    public var records: SpoolRecords
    /// The missing and damaged records among the requested ones. They are no longer in the log.
    public var missing: SeqSet

    /// Makes the result of a read.
    public init(records: SpoolRecords = [], missing: SeqSet = SeqSet()) {
        self.records = records
        self.missing = missing
    }
}

/// Some records of one stream, given by their numbers.
public struct SpoolPart: Hashable, Sendable {
    /// The trackable of the records.
    public var trackable: TrackableID
    /// The stream that numbers the records.
    public var stream: StreamID
    /// The numbers of the records.
    public var seqs: SeqSet

    /// Makes a value that names records of one stream.
    public init(trackable: TrackableID, stream: StreamID, seqs: SeqSet) {
        self.trackable = trackable
        self.stream = stream
        self.seqs = seqs
    }
}

/// The contents of a log when it is opened.
public struct SpoolContents: Hashable, Sendable {
    /// The streams of one trackable.
    public struct Trackable: Hashable, Sendable {
        /// The streams, oldest first.
        public var streams: [StoredStream]
        /// The stream to which new records are appended; `nil` when a new stream must begin.
        public var current: StreamID?

        /// Makes a description of the streams of one trackable.
        public init(streams: [StoredStream] = [], current: StreamID? = nil) {
            self.streams = streams
            self.current = current
        }
    }

    /// The streams of each trackable.
    public var trackables: [TrackableID: Trackable]
    /// The small values that the publisher stored in the log, by name.
    public var state: [String: [UInt8]]
    /// The result of recovering a damaged log; `nil` when the log was intact.
    public var salvage: SpoolSalvage?
    /// A description of the damage when a damaged log is used as it is, because there is no disk space to recover it;
    /// `nil` otherwise.
    public var damage: String?

    /// Makes a description of the contents of a log.
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

/// The result of recovering a damaged log.
public struct SpoolSalvage: Hashable, Sendable {
    /// The path of the damaged file that was moved aside.
    public var path: String
    /// A description of the damage, to read.
    public var reason: String
    /// The number of recovered records.
    public var count: Int
    /// The missing numbers between the oldest and the last known record; some of those records may have been sent.
    public var missing: [SpoolPart]
    /// The number of records whose stream is unknown. They exist only in the file that was moved aside.
    public var orphans: Int
    /// The number of files of damaged logs that were moved aside and still exist, including this one.
    public var keptFiles: Int
    /// The total size in bytes of the files of damaged logs that were moved aside.
    public var keptBytes: Int

    /// Makes a report of the recovery of a damaged log.
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

/// A record in the log, with its place in the order of appending.
public struct WaitingRecord: Hashable, Sendable {
    /// The record's place: unique while the record exists, and higher for records that were appended later.
    public var place: Int64
    /// The record with its trackable and stream.
    public var entry: SpoolEntry

    /// Makes a pair of a record and its place.
    public init(place: Int64, entry: SpoolEntry) {
        self.place = place
        self.entry = entry
    }
}

/// A quarantined record.
public struct QuarantinedRecord: Hashable, Sendable {
    /// The record's place: unique while the record exists, and higher for later records.
    public var place: Int64
    /// The record with its trackable and stream.
    public var entry: SpoolEntry
    /// The reason for the quarantine.
    public var reason: String

    /// Makes a description of a quarantined record.
    public init(place: Int64, entry: SpoolEntry, reason: String) {
        self.place = place
        self.entry = entry
        self.reason = reason
    }
}

/// A quarantined record that is to be returned to the backlog.
public struct PutBackRecord: Hashable, Sendable {
    /// The record's place in the quarantine.
    public var place: Int64
    /// The record with its new number.
    public var record: SpoolRecord

    /// Makes a pair of a quarantined record's place and the record with its new number.
    public init(place: Int64, record: SpoolRecord) {
        self.place = place
        self.record = record
    }
}
