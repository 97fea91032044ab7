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
        /// The stored points that its rows do not have yet; `nil` when they have all.
        public internal(set) var tail: PointTail?

        /// Makes a trackable of which nothing is known.
        public init(number: Int64) { self.number = number }

        /// A point is stored that its rows do not have yet: one after the last position, of the same stream. They come in the
        /// order of their times.
        public mutating func follow(_ name: PointName, at place: Coordinate) {
            let seq = UInt64(clamping: name.seq)
            guard let id = self.recent.last, self.streams[id]?.number == name.stream,
                self.streams[id]?.coverage.store(seq) == true
            else { return }
            self.tail.extend(id, seq)
            _ = self.run?.add(place, at: name.time)
            self.last = name
        }

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
    /// What all of it weighs, in ranges.
    private var weight = 0

    /// A trackable or a stream takes as much memory as so many ranges of numbers.
    private static let rangesOfOne = 16
    /// So many streams of a trackable stay known; of more, only the recent ones do.
    static let maximumStreams = 32

    /// Makes a ledger that knows nothing.
    public init() {}

    /// What it knows of a trackable.
    public subscript(id: TrackableID) -> Trackable? { self.trackables[id] }

    /// How much it holds: trackables and streams, and ranges of numbers, of which sixteen count as one.
    public var count: Int { self.weight / Self.rangesOfOne }

    /// The trackables and their streams that have to be filled in before a batch is applied, each once.
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

    /// Fills in a trackable, or streams of one: those of `trackable.streams` are added to what is there.
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

    /// Knows nothing of a trackable any more.
    public mutating func forget(_ id: TrackableID) {
        guard let trackable = self.trackables.removeValue(forKey: id) else { return }
        self.weight -= Self.weight(of: trackable)
    }

    private static func weight(of trackable: Trackable) -> Int {
        trackable.streams.values.reduce(self.rangesOfOne) { $0 + self.weight(of: $1) }
    }

    private static func weight(of stream: Stream) -> Int { self.rangesOfOne + stream.coverage.rangeCount }

    /// Where a trackable has many streams, those from which nothing came lately are known no more: they are loaded again.
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

    /// Decides what becomes of a batch, of which nothing is missing.
    ///
    /// - Parameter leavingTails: Whether the rows of trackables and streams may lack the last points, as ``PointTail`` says.
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
            // Taken out while it changes, so that nothing of it is copied.
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

    /// A record that is set aside counts as handled, where it has a number; one that counts so already is not set aside again.
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

    /// What brings the rows of a trackable up to its points: nothing where they have all, or it is not known.
    public mutating func settle(_ id: TrackableID) -> RecordingChanges {
        var changes = RecordingChanges()
        guard let trackable = self.trackables.removeValue(forKey: id) else { return changes }
        var intake = TrackableIntake(id, trackable)
        intake.finish(&changes, leavingTail: false)
        self.trackables[id] = intake.trackable
        return changes
    }
}
