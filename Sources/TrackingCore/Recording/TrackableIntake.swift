/// Applies the received records of one trackable to the recorder's state of that trackable in memory. Collects the
/// changes that the recorder then writes to its database.
struct TrackableIntake {
    private(set) var trackable: RecordingLedger.Trackable
    private let id: TrackableID
    private let last: PointName?
    private let run: PointRun?
    private let recent: [StreamID]
    private let hadTail: Bool
    private var points: [PointRow] = []
    private var changed: Set<StreamID> = []
    /// The change that a batch causes in the number of ranges of known record numbers, over all streams of the
    /// trackable. The value is negative when ranges merged.
    private(set) var newRanges = 0
    /// `true` while every new point of the batch directly followed the point before it: in the same stream, with the
    /// next number and a later time. It becomes `false` with any other point, and with one that begins another
    /// ``PointRun``.
    private var isFollowing = true

    init(_ id: TrackableID, _ trackable: RecordingLedger.Trackable) {
        self.id = id
        self.trackable = trackable
        self.last = trackable.last
        self.run = trackable.run
        self.recent = trackable.recent
        self.hadTail = trackable.tail != nil
    }

    mutating func take(_ recording: Recording, _ changes: inout RecordingChanges) {
        for point in recording.points { self.take(point, receivedAt: recording.receivedAt, &changes) }
        for trip in recording.trips {
            let (stream, seq) = (trip.value.stream, trip.value.seq)
            guard let number = self.record(seq, of: stream, at: trip.value.start, &changes) else { continue }
            changes.trips.append(DocumentRow(trackable: self.trackable.number, stream: number, document: trip))
        }
        for event in recording.events {
            let (stream, seq) = (event.value.stream, event.value.seq)
            guard let number = self.record(seq, of: stream, at: event.value.time, &changes) else { continue }
            changes.events.append(DocumentRow(trackable: self.trackable.number, stream: number, document: event))
        }
        if let declaration = recording.declaration {
            self.declare(of: declaration.stream, &changes) { $0.declare(declaration) }
        }
        if let state = recording.state {
            changes.states.append(
                StateRow(trackable: self.trackable.number, receivedAt: recording.receivedAt, change: state))
        }
    }

    /// Marks the number of a record as quarantined, because the record cannot be accepted.
    ///
    /// - Returns: `true` when the record is to be quarantined. `false` when the number is already stored, quarantined
    ///   or erased, or when the stream has too many ranges of numbers to mark another one.
    mutating func refuse(_ seq: UInt64, of stream: StreamID, _ changes: inout RecordingChanges) -> Bool {
        let marks: [StreamCoverage.Mark] = [.erased, .stored, .refused]
        let isHandled = marks.contains { self.trackable.streams[stream]?.coverage[$0].contains(seq) ?? false }
        guard !isHandled else {
            self.note(stream)
            return false
        }
        self.declare(of: stream, &changes) { $0.declareWithinBounds(seq...seq, .refused) }
        return self.trackable.streams[stream]?.coverage.isKnown(seq) ?? false
    }

    /// Lets the closure `body` change the states of record numbers of a stream, for example to missing. `body` returns
    /// `false` when the stream has too many ranges of known numbers to accept all of them. The stream is then added to
    /// `changes.tooManyGaps`.
    private mutating func declare(
        of stream: StreamID, _ changes: inout RecordingChanges, _ body: (inout StreamCoverage) -> Bool
    ) {
        var hasRoom = true
        self.change(stream, &changes) { hasRoom = body(&$0) }
        if !hasRoom, let number = self.trackable.streams[stream]?.number { changes.tooManyGaps.insert(number) }
    }

    private mutating func take(_ point: Location, receivedAt: UnixTime, _ changes: inout RecordingChanges) {
        var row = PointRow(trackable: self.trackable.number, location: point)
        row.hasClockFault =
            point.hasUnsetClock || RecordedTime.isFault(point.time, receivedAt: receivedAt, last: self.last?.time)
        if let stream = point.stream, let seq = point.seq {
            guard let number = self.record(seq, of: stream, at: point.time, isPoint: true, &changes) else { return }
            row.stream = number
            row.seq = Int64(clamping: seq)
            if row.hasClockFault { changes.clockFaults[number, default: 0] += 1 }
        } else {
            if let before = self.trackable.erasedBefore, point.time < before { return }
        }
        self.points.append(row)
    }

    /// Marks the number of a received record as stored.
    ///
    /// - Returns: The key of the stream in the database. `nil` when the record is not to be stored: it is a repetition,
    ///   it was erased, its stream is unknown, or the stream has too many ranges of numbers.
    private mutating func record(
        _ seq: UInt64, of stream: StreamID, at time: UnixTime, isPoint: Bool = false, _ changes: inout RecordingChanges
    ) -> Int64? {
        if let before = self.trackable.erasedBefore, time < before {
            self.declare(of: stream, &changes) { $0.declareWithinBounds(seq...seq, .erased) }
            return nil
        }
        guard let index = self.trackable.streams.index(forKey: stream) else { return nil }
        let number = self.trackable.streams.values[index].number
        if isPoint, self.trackable.tail.map({ $0.stream == stream }) ?? true,
            self.trackable.streams.values[index].coverage.isNext(seq)
        {
            _ = self.trackable.streams.values[index].coverage.store(seq)
            self.trackable.tail.extend(stream, seq)
            self.note(stream)
            return number
        }
        if self.trackable.streams.values[index].coverage[.stored].contains(seq) {
            changes.duplicates[number, default: 0] += 1
            self.note(stream)
            return nil
        }
        var isNew = false
        var isFull = false
        self.change(stream, &changes) { coverage in
            isFull = !coverage.hasRoom(for: seq)
            isNew = !isFull && coverage.store(seq)
        }
        if isFull {
            changes.tooManyGaps.insert(number)
        } else if !isNew {
            changes.duplicates[number, default: 0] += 1
        }
        return isNew ? number : nil
    }

    /// Changes the states of a stream's record numbers with `body`, and makes the stream the latest one of its
    /// trackable.
    private mutating func change(
        _ id: StreamID, _ changes: inout RecordingChanges, _ body: (inout StreamCoverage) -> Void
    ) {
        if self.trackable.tail?.stream == id { self.endTail(&changes) }
        guard let index = self.trackable.streams.index(forKey: id) else { return }
        let number = self.trackable.streams.values[index].number
        if changes.coverage[number] == nil {
            changes.coverage[number] = CoverageChange(before: self.trackable.streams.values[index].coverage)
        }
        self.changed.insert(id)
        self.newRanges -= self.trackable.streams.values[index].coverage.rangeCount
        body(&self.trackable.streams.values[index].coverage)
        self.newRanges += self.trackable.streams.values[index].coverage.rangeCount
        self.note(id)
    }

    /// Moves a stream to the end of the trackable's list of recent streams, so that it counts as the latest one.
    private mutating func note(_ id: StreamID) {
        guard self.trackable.recent.last != id else { return }
        self.trackable.recent.removeAll { $0 == id }
        self.trackable.recent.append(id)
        self.trackable.recent.removeFirst(max(0, self.trackable.recent.count - Acknowledgement.maximumStreams))
    }

    /// Ends the trackable's tail, the last points that are stored but not yet included in the stream's database row.
    /// The changes then contain the numbers of these points, so that the row is written.
    private mutating func endTail(_ changes: inout RecordingChanges) {
        guard let tail = self.trackable.tail, let stream = self.trackable.streams[tail.stream] else { return }
        self.trackable.tail = nil
        self.changed.insert(tail.stream)
        if changes.coverage[stream.number] == nil {
            changes.coverage[stream.number] = CoverageChange(before: stream.coverage.before(tail.seqs))
        }
    }

    /// Completes the database changes of one trackable after all records of a batch were processed.
    ///
    /// - Parameters:
    ///   - changes: The changes to complete.
    ///   - leavingTail: `true` when the rows of the trackable and its stream may remain unwritten while only
    ///     consecutive points arrive (``PointTail``).
    mutating func finish(_ changes: inout RecordingChanges, leavingTail: Bool) {
        self.place(&changes)
        if leavingTail, self.isTailLeft { return }
        self.endTail(&changes)
        for id in self.changed {
            guard let stream = self.trackable.streams[id] else { continue }
            changes.coverage[stream.number]?.after = stream.coverage
        }
        let isChanged =
            self.last != self.trackable.last || self.run != self.trackable.run || self.recent != self.trackable.recent
        if isChanged || self.hadTail { changes.trackables[self.trackable.number] = self.trackable }
    }

    /// `true` when the database rows of the trackable and its stream need not be written. This is the case when the
    /// batch contained only points that directly follow the previous ones, and not too many of them (``PointTail``).
    private var isTailLeft: Bool {
        self.isFollowing && self.changed.isEmpty && self.recent == self.trackable.recent
            && (self.trackable.tail.map { $0.seqs.count <= PointTail.maximumCount } ?? true)
            && self.isInKnownBox
    }

    /// `true` when the trackable's newest run (a group of consecutive points) still has the enlarged bounding box that
    /// the trackable's database row contains, so that the row needs no new box.
    private var isInKnownBox: Bool {
        guard let known = self.run?.widened, let run = self.trackable.run?.widened else { return true }
        return known.hasBox(of: run)
    }

    /// Sorts the new points by time, and adds each to the newest ``PointRun``, a group of consecutive points. Begins
    /// another run when that one accepts no more. Updates the trackable's last position.
    private mutating func place(_ changes: inout RecordingChanges) {
        let isOrdered = zip(self.points, self.points.dropFirst()).allSatisfy { $0.location.time <= $1.location.time }
        if !isOrdered { self.points.sort { $0.location.time < $1.location.time } }
        for row in self.points {
            let (place, time) = (row.location.coordinate, row.location.time)
            if self.isFollowing { self.isFollowing = self.follows(row) }
            if self.trackable.run?.add(place, at: time) != true {
                if let full = self.trackable.run { changes.runs.append(RunRow(self.trackable.number, full)) }
                self.trackable.run = PointRun(place, at: time)
                self.isFollowing = false
            }
            if !row.isFaulty, self.trackable.last.map({ $0 < row.name }) ?? true { self.trackable.last = row.name }
        }
        changes.points += self.points
        self.points = []
    }

    /// Returns `true` when a point directly follows the trackable's last position: the same stream, the next number and
    /// a later time. The newest ``PointRun`` must end with that last position.
    private func follows(_ row: PointRow) -> Bool {
        guard let last = self.trackable.last, !row.isFaulty, row.stream != 0 else { return false }
        return row.stream == last.stream && row.seq == last.seq &+ 1 && row.location.time > last.time
            && self.trackable.run?.last == last.time
    }
}
