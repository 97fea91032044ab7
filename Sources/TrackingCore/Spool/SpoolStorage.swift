/// The storage of a device's log. The log contains the records (points, trips, events) that are not safely stored
/// elsewhere yet. `SQLiteSpool` stores the log in a file, ``InMemorySpool`` in memory for tests.
///
/// Calls take effect in their order. A call that throws has normally changed nothing, and later calls may succeed.
/// After a power failure, records that were removed last may exist again. Nothing else is lost.
public protocol SpoolStorage: Sendable {
    /// The executor of the storage; `nil` when the storage works on the caller's thread. A task that calls the storage
    /// often can run on the executor, which avoids changes of threads. Such a task must never block.
    var executor: (any TaskExecutor)? { get }

    /// Opens the log, or creates it if it does not exist.
    ///
    /// If the log is damaged, its file is renamed, and the readable records are copied into a new log
    /// (``SpoolContents/salvage``). If the disk space does not suffice for that, the damaged log is used until it is
    /// opened the next time (``SpoolContents/damage``).
    ///
    /// - Parameter now: The wall clock, for the name of a renamed file.
    /// - Returns: The streams and the publisher's values that the log contains.
    /// - Throws: ``TrackingError/Code/spoolFailed`` when the log cannot be read or created, or another program has
    ///   opened it.
    func open(now: UnixTime) async throws(TrackingError) -> SpoolContents

    /// Appends records to the log, and sets small values of the publisher. Either everything is stored or nothing. On
    /// return, it is stored durably.
    ///
    /// The first record of a new stream ends the previous stream of its trackable. If a record has a mark, its identity
    /// by time and content, ``known(_:of:)`` finds the record by that mark from now on.
    ///
    /// - Parameters:
    ///   - records: The records, at most 10,000.
    ///   - state: The new values by name; `nil` removes a value.
    ///   - now: The wall clock. Marks that were added more than ``RecordMark/maximumAge`` ago may be removed.
    ///   - knowsAges: `true` when `now` is reliable. Otherwise, no mark is removed because of its age.
    /// - Throws: ``TrackingError/Code/spoolFailed`` when the disk is full or fails. The record numbers are used up even
    ///   so. ``TrackingError/Code/spoolDamaged`` when the log is damaged; close it and open it again.
    func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime, knowsAges: Bool
    ) async throws(TrackingError)

    /// Returns the names (stream and number) of the records with the given marks, which are their identities by time
    /// and content. A record that already left the log is found too, as long as the log remembers its mark.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func known(_ marks: [RecordMark], of trackable: TrackableID) async throws(TrackingError) -> [RecordMark: RecordName]

    /// Reads records of a stream from the log, in order of their numbers. Requested records that are missing or damaged
    /// are removed from the log.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - seqs: The numbers of the records.
    ///   - maximumCount: The maximum number of records to return.
    ///   - maximumBytes: The maximum number of payload bytes to return. At least one record is returned, even if it is
    ///     larger.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func read(
        _ stream: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int
    ) async throws(TrackingError) -> SpoolReading

    /// Removes records from the log, because they are safely stored elsewhere. After a power failure, some of them may
    /// be in the log again.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func remove(_ seqs: SeqSet, of stream: StreamID) async throws(TrackingError)

    /// Returns the readable records of the log in the order in which they were appended.
    ///
    /// - Parameters:
    ///   - place: The place after which to begin; 0 for the first record. See ``WaitingRecord/place``.
    ///   - last: The last place to include.
    ///   - maximumCount: The maximum number of records to return.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func waiting(
        after place: Int64, through last: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [WaitingRecord]

    /// Quarantines a record that can never be accepted: sets it aside in the log. It no longer belongs to its stream
    /// and is not sent.
    ///
    /// - Parameters:
    ///   - seq: The record's number.
    ///   - stream: The record's stream.
    ///   - reason: The reason as text, of which at most 500 bytes are stored.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func quarantine(_ seq: UInt64, of stream: StreamID, reason: String) async throws(TrackingError)

    /// Returns at most `maximumCount` quarantined records, oldest first. `place` is the place after which to begin; 0
    /// for the first record.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func quarantined(after place: Int64, maximumCount: Int) async throws(TrackingError) -> [QuarantinedRecord]

    /// Moves quarantined records back to the records to be sent. They are appended to a stream under new numbers and
    /// keep their marks. Either all are moved or none. On return, this is stored durably.
    ///
    /// - Parameters:
    ///   - records: The records, at most 10,000, with numbers that were never used.
    ///   - trackable: The trackable of the records.
    ///   - stream: The stream to append to. A new stream ends the previous one of the trackable.
    /// - Throws: ``TrackingError/Code/spoolFailed``, also when a record is no longer quarantined, or
    ///   ``TrackingError/Code/spoolDamaged``. The new numbers are used up even so.
    func putBack(
        _ records: [PutBackRecord], of trackable: TrackableID, in stream: StreamID
    ) async throws(TrackingError)

    /// Deletes the quarantined records at the given places; `nil` deletes all quarantined records.
    ///
    /// - Returns: The number of deleted records.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func dropQuarantined(_ places: [Int64]?) async throws(TrackingError) -> Int

    /// Removes a stream from the log if it has no records. Its quarantined records are not deleted.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func forget(_ stream: StreamID) async throws(TrackingError)

    /// Removes the records that were appended first, until the log is within the limits.
    ///
    /// - Returns: The removed records. If an error occurs after some records were removed, these are returned, and the
    ///   log may still exceed the limits.
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged`` when no record was removed.
    func trim(to limits: SpoolLimits, now: UnixTime) async throws(TrackingError) -> [SpoolPart]

    /// Returns the number and size of the records in the log, and the numbers of dropped and of quarantined records.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``.
    func summary() async throws(TrackingError) -> SpoolSummary

    /// Erases the records of a trackable from before a time, quarantined ones included; `nil` erases all its records.
    /// The remains of records that were removed earlier are overwritten on the disk, for all trackables.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed`` or ``TrackingError/Code/spoolDamaged``; some of the records may
    ///   remain.
    func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError)

    /// Closes the log properly, so that its streams continue when it is opened again. Does nothing when the log is not
    /// open.
    ///
    /// - Throws: ``TrackingError/Code/spoolFailed``. The streams then end, and new ones begin when the log is opened
    ///   again.
    func close() async throws(TrackingError)
}

extension SpoolStorage {
    /// Does nothing. This default implementation of erasing is for a log in memory, which leaves nothing on a disk.
    public func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError) {}

    /// Appends records when the caller knows that the wall clock `now` is reliable. See
    /// ``append(_:state:now:knowsAges:)``.
    public func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime
    ) async throws(TrackingError) {
        try await self.append(records, state: state, now: now, knowsAges: true)
    }

    /// Appends records that have no marks. The log needs the wall clock only for marks, so that no clock is passed. See
    /// ``append(_:state:now:knowsAges:)``.
    public func append(_ records: [SpoolEntry], state: [String: [UInt8]?] = [:]) async throws(TrackingError) {
        try await self.append(records, state: state, now: UnixTime(0), knowsAges: false)
    }
}

/// A record together with its trackable and its stream.
public struct SpoolEntry: Hashable, Sendable {
    /// The trackable of the record.
    public var trackable: TrackableID
    /// The stream of the record, the numbered sequence to which the record belongs.
    public var stream: StreamID
    /// The record itself: its number, time, kind and content. Its trackable and its stream are separate members of this
    /// value.
    public var record: SpoolRecord
    /// The mark, the identity by time and content, that shows if the same record is received again. `nil` for a record
    /// without a mark, and for every record that was read from the log.
    public var mark: RecordMark?

    /// The name of the record: the record's stream and its number in this stream.
    public var name: RecordName { RecordName(stream: self.stream, seq: self.record.seq) }

    /// Makes an entry of the log from a record, its trackable, its stream and, for an ingested record, its mark.
    public init(
        _ record: SpoolRecord, of trackable: TrackableID, in stream: StreamID, mark: RecordMark? = nil
    ) {
        self.trackable = trackable
        self.stream = stream
        self.record = record
        self.mark = mark
    }
}

/// The result of reading records from a device's log: the readable records, and the numbers of the others.
public struct SpoolReading: Hashable, Sendable {
    /// The records that could be read from the log.
    public var records: SpoolRecords
    /// The numbers of those requested records that are missing or damaged. They are no longer in the log.
    public var missing: SeqSet

    /// Makes the result of reading records from a log; by default, an empty result.
    public init(records: SpoolRecords = [], missing: SeqSet = SeqSet()) {
        self.records = records
        self.missing = missing
    }
}

/// Some records of one stream of a device's log, identified by their trackable, their stream and their numbers.
public struct SpoolPart: Hashable, Sendable {
    /// The trackable of the records.
    public var trackable: TrackableID
    /// The stream of the records, the numbered sequence to which they belong.
    public var stream: StreamID
    /// The numbers that the records have in their stream.
    public var seqs: SeqSet

    /// Makes a value that identifies records of one stream by their trackable, their stream and their numbers.
    public init(trackable: TrackableID, stream: StreamID, seqs: SeqSet) {
        self.trackable = trackable
        self.stream = stream
        self.seqs = seqs
    }
}

/// The contents of a device's log at the time it is opened.
public struct SpoolContents: Hashable, Sendable {
    /// The streams of one trackable in the log, and the stream to which new records are appended.
    public struct Trackable: Hashable, Sendable {
        /// The streams of the trackable, oldest first.
        public var streams: [StoredStream]
        /// The stream to which new records of the trackable are appended; `nil` when the next record must begin a new
        /// stream.
        public var current: StreamID?

        /// Makes the description of one trackable's streams in the log; by default, without streams.
        public init(streams: [StoredStream] = [], current: StreamID? = nil) {
            self.streams = streams
            self.current = current
        }
    }

    /// For each trackable, its streams in the log, and the stream to which new records are appended.
    public var trackables: [TrackableID: Trackable]
    /// The values that the publisher stored in the log, besides records, by name.
    public var state: [String: [UInt8]]
    /// The result of recovering a damaged log; `nil` when the log was not damaged, or when it was damaged and could not
    /// be recovered.
    public var salvage: SpoolSalvage?
    /// A description of the damage, if a damaged log is in use because the disk space does not suffice to recover it.
    /// Otherwise `nil`.
    public var damage: String?

    /// Makes the description of the contents of an opened log; by default, that of an empty log without damage.
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

/// The result of recovering a damaged log: the readable records were copied into a new log.
public struct SpoolSalvage: Hashable, Sendable {
    /// The path to which the file of the damaged log was renamed.
    public var path: String
    /// A description of the damage that was found in the log, for people.
    public var reason: String
    /// The number of records that were recovered from the damaged log.
    public var count: Int
    /// The record numbers of each stream that were not recovered, between the oldest and the last known number of the
    /// stream. Some of these records may have been sent before the damage.
    public var missing: [SpoolPart]
    /// The number of records whose stream is unknown. They were not recovered and exist only in the damaged file.
    public var orphans: Int
    /// The number of files of damaged logs that are on the disk, from this and from earlier recoveries.
    public var keptFiles: Int
    /// The total size, in bytes, of the files of damaged logs that are on the disk, from this and from earlier
    /// recoveries.
    public var keptBytes: Int

    /// Makes the result of recovering a damaged log from the path of its renamed file, the damage, and the numbers of
    /// records and files.
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

/// A record in the log, with its place in the order in which the records were appended.
public struct WaitingRecord: Hashable, Sendable {
    /// The record's place in the order of appending. It is unique while the record exists. A record that was appended
    /// later has a higher place.
    public var place: Int64
    /// The record itself, with its trackable and its stream.
    public var entry: SpoolEntry

    /// Makes a record of the log with its place in the order of appending.
    public init(place: Int64, entry: SpoolEntry) {
        self.place = place
        self.entry = entry
    }
}

/// A quarantined record: a record that was set aside in the log because it can never be accepted.
public struct QuarantinedRecord: Hashable, Sendable {
    /// The record's place, which identifies it among the quarantined records. A record that was appended to the log
    /// later has a higher place.
    public var place: Int64
    /// The record itself, with its trackable and its stream.
    public var entry: SpoolEntry
    /// The reason for which the record was quarantined, as text.
    public var reason: String

    /// Makes a quarantined record from its place, the record with its trackable and stream, and the reason for the
    /// quarantine.
    public init(place: Int64, entry: SpoolEntry, reason: String) {
        self.place = place
        self.entry = entry
        self.reason = reason
    }
}

/// A quarantined record that is to be moved back to the records to be sent.
public struct PutBackRecord: Hashable, Sendable {
    /// The place (row id) of the record among the quarantined records.
    public var place: Int64
    /// The quarantined record with the new number under which it will be sent again.
    public var record: SpoolRecord

    /// Makes a value from the place of a quarantined record in the quarantine, and the record with its new number.
    public init(place: Int64, record: SpoolRecord) {
        self.place = place
        self.record = record
    }
}
