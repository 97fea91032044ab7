/// A store's cache of trackables and streams. It decides which records of a batch are new, and how the store's rows
/// change.
///
/// For each batch, the store loads the entries that ``missing(for:)`` names (or creates new ones), calls
/// ``apply(_:leavingTails:)`` and writes the resulting changes, all in one transaction. After a failed transaction, the
/// ledger is discarded.
public struct RecordingLedger: Sendable {
    /// The cached state of a trackable.
    public struct Trackable: Hashable, Sendable {
        /// The trackable's key in the store.
        public var number: Int64
        /// The time before which the trackable's records were erased for good; `nil` when none were.
        public var erasedBefore: UnixTime?
        /// The newest position without a fault.
        public var last: PointName?
        /// The current run of points, which is not full yet.
        public var run: PointRun?
        /// The streams in order of their last record, the newest at the end; at most
        /// ``Acknowledgement/maximumStreams``.
        public var recent: [StreamID] = []
        /// The loaded streams; they include all streams of `recent`.
        public var streams: [StreamID: Stream] = [:]
        /// The stored points that the rows do not reflect yet; `nil` when there are none.
        public internal(set) var tail: PointTail?

        /// Makes a new trackable without records.
        public init(number: Int64) { self.number = number }

        /// Replays a stored point that the rows do not reflect yet. Call it for the points after the last position, of
        /// the same stream, in order of time.
        public mutating func follow(_ name: PointName, at place: Coordinate) {
            let seq = UInt64(clamping: name.seq)
            guard let id = self.recent.last, self.streams[id]?.number == name.stream,
                self.streams[id]?.coverage.store(seq) == true
            else { return }
            self.tail.extend(id, seq)
            _ = self.run?.add(place, at: name.time)
            self.last = name
        }

        /// The acknowledgement of this trackable's streams, to be published after the transaction is durable.
        public var acknowledgement: Acknowledgement {
            var streams: [StreamID: UInt64] = [:]
            for id in self.recent {
                if let through = self.streams[id]?.coverage.handledThrough, through > 0 { streams[id] = through }
            }
            return Acknowledgement(streams: streams)
        }
    }

    /// The cached state of a stream.
    public struct Stream: Hashable, Sendable {
        /// The stream's key in the store, above 0.
        public var number: Int64
        /// The numbers that are stored or declared missing.
        public var coverage: StreamCoverage

        /// Makes a stream.
        public init(number: Int64, coverage: StreamCoverage = StreamCoverage()) {
            self.number = number
            self.coverage = coverage
        }
    }

    private var trackables: [TrackableID: Trackable] = [:]
    /// The memory use of all cached trackables and streams, measured in ranges of record numbers.
    private var weight = 0

    /// The memory use of one trackable or one stream without ranges: as much as sixteen ranges of record numbers.
    private static let rangesOfOne = 16
    /// The maximum number of cached streams of a trackable; beyond it, only the recent ones remain.
    static let maximumStreams = 32

    /// Makes an empty ledger.
    public init() {}

    /// The cached state of a trackable; `nil` when it is not loaded.
    public subscript(id: TrackableID) -> Trackable? { self.trackables[id] }

    /// The size of the ledger: its trackables and streams, plus one for each sixteen ranges of numbers.
    public var count: Int { self.weight / Self.rangesOfOne }

    /// Returns the trackables and streams that must be loaded before a batch is applied, each once.
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

    /// Adds a loaded trackable. For a trackable that is present already, only missing streams are added.
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

    /// Removes a trackable from the ledger.
    public mutating func forget(_ id: TrackableID) {
        guard let trackable = self.trackables.removeValue(forKey: id) else { return }
        self.weight -= Self.weight(of: trackable)
    }

    private static func weight(of trackable: Trackable) -> Int {
        trackable.streams.values.reduce(self.rangesOfOne) { $0 + self.weight(of: $1) }
    }

    private static func weight(of stream: Stream) -> Int { self.rangesOfOne + stream.coverage.rangeCount }

    /// Removes the streams without recent records from a trackable with many streams. They are loaded again when they
    /// are needed.
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

    /// Decides the changes that a batch causes. Everything in ``missing(for:)`` must have been added.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - leavingTails: `true` when the rows of trackables and streams may lag behind the last points, as
    ///     ``PointTail`` describes.
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

    /// Quarantines a rejected record. When the record has a number, the number counts as handled, and the record is not
    /// quarantined a second time.
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

    /// Returns the changes that bring the rows of a trackable and its stream up to date with the points of its tail
    /// (see ``PointTail``). The changes are empty when the rows are up to date or the trackable is not loaded.
    public mutating func settle(_ id: TrackableID) -> RecordingChanges {
        var changes = RecordingChanges()
        guard let trackable = self.trackables.removeValue(forKey: id) else { return changes }
        var intake = TrackableIntake(id, trackable)
        intake.finish(&changes, leavingTail: false)
        self.trackables[id] = intake.trackable
        return changes
    }
}
