/// What a store knows of the trackables and streams that it is storing for: decides what of a batch is new, and what becomes
/// of it.
///
/// A store fills in what ``missing(for:)`` names, from its tables or as new, calls ``apply(_:)``, and writes the changes in the
/// same transaction. After a transaction that failed the ledger is thrown away.
public struct RecordingLedger: Sendable {
    /// What is known of a trackable.
    public struct Trackable: Hashable, Sendable {
        /// Its key in the store.
        public var number: Int64
        /// What is of an earlier time was erased for good.
        public var erasedBefore: UnixTime?
        /// The newest position whose clock was right.
        public var last: PointName?
        /// The run of points that is not full yet.
        public var run: PointRun?
        /// Its streams in the order something last came of them, the newest at the end; at most
        /// ``Acknowledgement/maximumStreams``.
        public var recent: [StreamID] = []
        /// The streams that are loaded; all of `recent` are.
        public var streams: [StreamID: Stream] = [:]

        /// Makes a trackable of which nothing is known.
        public init(number: Int64) { self.number = number }

        /// What is durable of it, once the transaction is.
        public var acknowledgement: Acknowledgement {
            var streams: [StreamID: UInt64] = [:]
            for id in self.recent {
                if let through = self.streams[id]?.coverage.handledThrough, through > 0 { streams[id] = through }
            }
            return Acknowledgement(streams: streams)
        }
    }

    /// What is known of a stream.
    public struct Stream: Hashable, Sendable {
        /// Its key in the store, above 0.
        public var number: Int64
        /// Which numbers are stored or declared missing.
        public var coverage: StreamCoverage

        /// Makes a stream.
        public init(number: Int64, coverage: StreamCoverage = StreamCoverage()) {
            self.number = number
            self.coverage = coverage
        }
    }

    private var trackables: [TrackableID: Trackable] = [:]
    private var streamCount = 0

    /// Makes a ledger that knows nothing.
    public init() {}

    /// What it knows of a trackable.
    public subscript(id: TrackableID) -> Trackable? { self.trackables[id] }

    /// How many trackables and streams it holds.
    public var count: Int { self.trackables.count + self.streamCount }

    /// The trackables and their streams that have to be filled in before a batch is applied, each once.
    public func missing(for batch: RecordingBatch) -> [(trackable: TrackableID, streams: [StreamID])] {
        var missing: [TrackableID: Set<StreamID>] = [:]
        func look(_ trackable: TrackableID, _ streams: some Sequence<StreamID?>) {
            let known = self.trackables[trackable]
            if known == nil, missing[trackable] == nil { missing[trackable] = [] }
            var previous: StreamID?
            for case .some(let stream) in streams where stream != previous {
                previous = stream
                if known?.streams[stream] == nil { missing[trackable, default: []].insert(stream) }
            }
        }
        for recording in batch.recordings {
            look(recording.trackable, recording.points.lazy.map { $0.seq == nil ? nil : $0.stream })
            look(recording.trackable, recording.trips.lazy.map(\.value.stream))
            look(recording.trackable, recording.events.lazy.map(\.value.stream))
            look(recording.trackable, [recording.declaration?.stream])
        }
        for refused in batch.refused {
            if let trackable = refused.trackable { look(trackable, [refused.seq == nil ? nil : refused.stream]) }
        }
        return missing.map { ($0.key, $0.value.sorted { $0.rawValue < $1.rawValue }) }
            .sorted { $0.trackable.rawValue < $1.trackable.rawValue }
    }

    /// Fills in a trackable, or streams of one: those of `trackable.streams` are added to what is there.
    public mutating func fill(_ id: TrackableID, _ trackable: Trackable) {
        if self.trackables[id] == nil { self.trackables[id] = trackable }
        for (stream, value) in trackable.streams where self.trackables[id]?.streams[stream] == nil {
            self.trackables[id]?.streams[stream] = value
            self.streamCount += 1
        }
    }

    /// Knows nothing of a trackable any more.
    public mutating func forget(_ id: TrackableID) {
        self.streamCount -= self.trackables.removeValue(forKey: id)?.streams.count ?? 0
    }

    /// Decides what becomes of a batch, of which nothing is missing.
    public mutating func apply(_ batch: RecordingBatch) -> RecordingChanges {
        var changes = RecordingChanges()
        var touched: [TrackableID: [Int]] = [:]
        for (index, recording) in batch.recordings.enumerated() {
            touched[recording.trackable, default: []].append(index)
        }
        let order = touched.keys.map { ($0, self.trackables[$0]?.number ?? 0) }.sorted { $0.1 < $1.1 }
        for (id, _) in order {
            // Taken out while it changes, so that nothing of it is copied.
            guard let trackable = self.trackables.removeValue(forKey: id) else {
                preconditionFailure("what is missing is filled in before a batch is applied")
            }
            var intake = TrackableIntake(id, trackable)
            for index in touched[id] ?? [] { intake.take(batch.recordings[index], &changes) }
            intake.finish(&changes)
            changes.acknowledgements[id] = intake.trackable.acknowledgement
            self.trackables[id] = intake.trackable
        }
        for refused in batch.refused { self.refuse(refused, &changes) }
        changes.refused += batch.refused
        return changes
    }

    /// A record that is set aside counts as handled, where it has a number.
    private mutating func refuse(_ refused: RefusedMessage, _ changes: inout RecordingChanges) {
        guard let id = refused.trackable, let trackable = self.trackables.removeValue(forKey: id) else { return }
        var intake = TrackableIntake(id, trackable)
        if let stream = refused.stream, let seq = refused.seq { intake.refuse(seq, of: stream, &changes) }
        intake.finish(&changes)
        changes.acknowledgements[id] = intake.trackable.acknowledgement
        self.trackables[id] = intake.trackable
    }
}
