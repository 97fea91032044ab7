/// A store's cache of trackables and their streams. It decides which records of a batch are new, and which database
/// rows change.
///
/// For each batch, the store loads the entries that ``missing(for:)`` names, and creates those that the database does
/// not have. It then calls ``apply(_:leavingTails:)`` and writes the returned changes, all in one transaction. After a
/// failed transaction, the store discards the cache.
public struct RecordingLedger: Sendable {
    /// The state of one trackable in the store's cache: its last position, its current group of points and its streams.
    public struct Trackable: Hashable, Sendable {
        /// The key of the trackable in the database.
        public var number: Int64
        /// The time before which the trackable's records were erased for good. Records with earlier times are not
        /// stored again. `nil` when none were erased.
        public var erasedBefore: UnixTime?
        /// The key of the trackable's last position: its newest point whose time and coordinate are plausible; `nil`
        /// for none.
        public var last: PointName?
        /// The trackable's current run, a group of consecutive points to which new points are still added; `nil` for
        /// none.
        public var run: PointRun?
        /// The streams of the trackable from which records were received last, in the order of receipt and not of the
        /// records' times. The latest stream is at the end; at most ``Acknowledgement/maximumStreams``.
        public var recent: [StreamID] = []
        /// The streams of the trackable that are loaded into the cache, by their ids. They include every stream in
        /// ``recent``.
        public var streams: [StreamID: Stream] = [:]
        /// The tail: the newest stored points that the database rows of the trackable and of its stream do not include
        /// yet; `nil` when there are none.
        public internal(set) var tail: PointTail?

        /// Makes the cached state of a new trackable without records. `number` is the key of the trackable in the
        /// database.
        public init(number: Int64) { self.number = number }

        /// Updates the cached state by a stored point that the trackable's row in the database does not include yet.
        /// Call it while loading a trackable, for each such point in order of time.
        ///
        /// - Parameters:
        ///   - name: The key of the point. Its stream must be the trackable's latest one.
        ///   - place: The coordinate of the point.
        public mutating func follow(_ name: PointName, at place: Coordinate) {
            let seq = UInt64(clamping: name.seq)
            guard let id = self.recent.last, self.streams[id]?.number == name.stream,
                self.streams[id]?.coverage.store(seq) == true
            else { return }
            self.tail.extend(id, seq)
            _ = self.run?.add(place, at: name.time)
            self.last = name
        }

        /// The acknowledgement that the recorder publishes for the trackable's records, after the transaction is
        /// durable. For each recent stream, it contains the number up to which every record is stored, erased,
        /// quarantined or missing.
        public var acknowledgement: Acknowledgement {
            var streams: [StreamID: UInt64] = [:]
            for id in self.recent {
                if let through = self.streams[id]?.coverage.handledThrough, through > 0 { streams[id] = through }
            }
            return Acknowledgement(streams: streams)
        }
    }

    /// The cached state of one stream (one life of a device's log): its key in the database, and the states of its
    /// record numbers.
    public struct Stream: Hashable, Sendable {
        /// The key of the stream in the database, above 0.
        public var number: Int64
        /// The coverage of the stream: the state of each known record number, such as stored, erased, quarantined or
        /// gone from the device.
        public var coverage: StreamCoverage

        /// Makes the cached state of a stream. By default, no record number is known.
        public init(number: Int64, coverage: StreamCoverage = StreamCoverage()) {
            self.number = number
            self.coverage = coverage
        }
    }

    private var trackables: [TrackableID: Trackable] = [:]
    /// The memory use of the store's cache of trackables and streams. The unit is one range of record numbers.
    private var weight = 0

    /// The memory that a trackable or a stream needs besides the ranges of its record numbers, in units of the memory
    /// of one range: 16.
    private static let rangesOfOne = 16
    /// The maximum number of cached streams of a trackable. When there are more, all but the recent ones are removed
    /// from the cache.
    static let maximumStreams = 32

    /// Makes an empty cache of trackables and streams.
    public init() {}

    /// The cached state of the trackable with this id; `nil` when it is not loaded.
    public subscript(id: TrackableID) -> Trackable? { self.trackables[id] }

    /// The size of the cache: the number of its trackables and streams, plus one for each sixteen ranges of record
    /// numbers.
    public var count: Int { self.weight / Self.rangesOfOne }

    /// Returns the trackables and streams of a batch that are not in the cache. They must be loaded before the batch is
    /// applied. Each is returned once.
    public func missing(for batch: RecordingBatch) -> [(trackable: TrackableID, streams: [StreamID])] {
        var missing: [TrackableID: Set<StreamID>] = [:]
        for recording in batch.recordings {
            let known = self.trackables.index(forKey: recording.trackable)
            if known == nil, missing[recording.trackable] == nil { missing[recording.trackable] = [] }
            var previous: StreamID?
            func look(_ stream: StreamID) {
                guard stream != previous else { return }
                previous = stream
                if known.map({ self.trackables.values[$0].streams.index(forKey: stream) == nil }) ?? true {
                    missing[recording.trackable, default: []].insert(stream)
                }
            }
            for point in recording.points where point.seq != nil { if let stream = point.stream { look(stream) } }
            for trip in recording.trips { look(trip.value.stream) }
            for event in recording.events { look(event.value.stream) }
            if let declaration = recording.declaration { look(declaration.stream) }
        }
        for refused in batch.refused {
            guard let id = refused.trackable else { continue }
            let known = self.trackables[id]
            if known == nil, missing[id] == nil { missing[id] = [] }
            guard refused.seq != nil, let stream = refused.stream, known?.streams[stream] == nil else { continue }
            missing[id, default: []].insert(stream)
        }
        return missing.map { ($0.key, $0.value.sorted()) }
            .sorted { $0.trackable < $1.trackable }
    }

    /// Adds a trackable that was loaded from the store to the cache. If the trackable is in the cache already, only its
    /// missing streams are added.
    public mutating func fill(_ id: TrackableID, _ trackable: Trackable) {
        guard self.trackables[id] != nil else {
            self.trackables[id] = trackable
            self.weight += Self.weight(of: trackable)
            return
        }
        for (stream, value) in trackable.streams where self.trackables[id]?.streams[stream] == nil {
            self.trackables[id]?.streams[stream] = value
            self.weight += Self.weight(of: value)
        }
    }

    /// Removes a trackable and its streams from the store's cache. The database does not change.
    public mutating func forget(_ id: TrackableID) {
        guard let trackable = self.trackables.removeValue(forKey: id) else { return }
        self.weight -= Self.weight(of: trackable)
    }

    private static func weight(of trackable: Trackable) -> Int {
        trackable.streams.values.reduce(self.rangesOfOne) { $0 + self.weight(of: $1) }
    }

    private static func weight(of stream: Stream) -> Int { self.rangesOfOne + stream.coverage.rangeCount }

    /// Removes streams without recent records from the cache, if a trackable has more than ``maximumStreams`` cached
    /// streams. They are loaded again when they are needed.
    private mutating func forgetOldStreams(of id: TrackableID) {
        guard let place = self.trackables.index(forKey: id),
            self.trackables.values[place].streams.count > Self.maximumStreams
        else { return }
        let recent = self.trackables.values[place].recent
        for (stream, value) in self.trackables.values[place].streams where !recent.contains(stream) {
            self.trackables.values[place].streams[stream] = nil
            self.weight -= Self.weight(of: value)
        }
    }

    /// Adds the records of a batch to the cached state, and returns the changes for the database. Everything that
    /// ``missing(for:)`` returns must have been added before.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - leavingTails: `true` when the rows of a trackable and its stream need not be written with every point.
    ///     Points without updated rows are a ``PointTail``.
    public mutating func apply(_ batch: RecordingBatch, leavingTails: Bool) -> RecordingChanges {
        var changes = RecordingChanges()
        changes.points.reserveCapacity(batch.recordings.count)
        changes.acknowledgements.reserveCapacity(batch.recordings.count)
        var order = batch.recordings.indices.map { index in
            guard let place = self.trackables.index(forKey: batch.recordings[index].trackable) else {
                preconditionFailure("what is missing is filled in before a batch is applied")
            }
            return (number: self.trackables.values[place].number, index: index, place: place)
        }
        order.sort { ($0.number, $0.index) < ($1.number, $1.index) }
        var rest = order[...]
        while let first = rest.first {
            let id = batch.recordings[first.index].trackable
            // The trackable is moved out of the dictionary during the change, so that nothing is copied.
            var trackable = Trackable(number: first.number)
            swap(&trackable, &self.trackables.values[first.place])
            var intake = TrackableIntake(id, consume trackable)
            while let next = rest.first, next.number == first.number {
                intake.take(batch.recordings[next.index], &changes)
                rest.removeFirst()
            }
            intake.finish(&changes, leavingTail: leavingTails)
            changes.acknowledgements[id] = intake.trackable.acknowledgement
            self.weight += intake.newRanges
            self.trackables.values[first.place] = intake.trackable
        }
        for refused in batch.refused { self.refuse(refused, &changes) }
        for id in changes.acknowledgements.keys { self.forgetOldStreams(of: id) }
        return changes
    }

    /// Adds a rejected record to the records to quarantine. If the record has a number, it is acknowledged like a
    /// stored one, and it is not quarantined a second time. A record whose number begins a range too many in its stream
    /// is dropped without an acknowledgement, and its stream is in ``RecordingChanges/tooManyGaps``: the device sends
    /// the record again. Once the numbers before it are known, it is accepted.
    private mutating func refuse(_ refused: RefusedMessage, _ changes: inout RecordingChanges) {
        guard let id = refused.trackable, let trackable = self.trackables.removeValue(forKey: id) else {
            changes.refused.append(refused)
            return
        }
        var intake = TrackableIntake(id, trackable)
        var isNew = true
        if let stream = refused.stream, let seq = refused.seq { isNew = intake.refuse(seq, of: stream, &changes) }
        if isNew { changes.refused.append(refused) }
        intake.finish(&changes, leavingTail: false)
        changes.acknowledgements[id] = intake.trackable.acknowledgement
        self.weight += intake.newRanges
        self.trackables[id] = intake.trackable
    }

    /// Returns the changes that bring the rows of a trackable and its stream up to date with the trackable's newest
    /// points (see ``PointTail``). The changes are empty when the rows are up to date, or when the trackable is not in
    /// the cache.
    public mutating func settle(_ id: TrackableID) -> RecordingChanges {
        var changes = RecordingChanges()
        guard let trackable = self.trackables.removeValue(forKey: id) else { return changes }
        var intake = TrackableIntake(id, trackable)
        intake.finish(&changes, leavingTail: false)
        self.trackables[id] = intake.trackable
        return changes
    }
}
