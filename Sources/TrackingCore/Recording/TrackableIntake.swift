/// Applies the recordings of one trackable in a batch to the trackable's cached state, and collects the changes of the
/// store.
struct TrackableIntake {
    private(set) var trackable: RecordingLedger.Trackable
    private let id: TrackableID
    private let last: PointName?
    private let run: PointRun?
    private let recent: [StreamID]
    private let hadTail: Bool
    private var points: [PointRow] = []
    private var changed: Set<StreamID> = []
    /// The change in the number of ranges in the coverage of the trackable's streams; may be negative.
    private(set) var newRanges = 0
    /// `true` while every record of the batch was the next point of the stream that contains the trackable's last
    /// position.
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

    /// Marks the number of a record that cannot be accepted as quarantined in the coverage of its stream.
    ///
    /// - Returns: `true` when the record is to be quarantined; `false` when it is already stored, quarantined or
    ///   erased, or when the stream has too many ranges to mark its number.
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

    /// Marks record numbers in the coverage of a stream, for example as missing. `body` changes the coverage, and
    /// returns `false` when the stream has too many ranges to mark all numbers, which is then noted in the changes.
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

    /// Marks the number of a received record as stored in the coverage of its stream.
    ///
    /// - Returns: The key of the stream in the store; `nil` when the record is not to be stored: it is a repetition or
    ///   was erased, or the stream has too many ranges or is unknown.
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

    /// Changes the coverage of a stream and makes it the latest stream.
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

    /// Moves a stream to the end of the trackable's recent streams, as the latest one.
    private mutating func note(_ id: StreamID) {
        guard self.trackable.recent.last != id else { return }
        self.trackable.recent.removeAll { $0 == id }
        self.trackable.recent.append(id)
        self.trackable.recent.removeFirst(max(0, self.trackable.recent.count - Acknowledgement.maximumStreams))
    }

    /// Ends the trackable's tail (``PointTail``): adds the coverage of its numbers to the changes, so that the stream's
    /// row is written.
    private mutating func endTail(_ changes: inout RecordingChanges) {
        guard let tail = self.trackable.tail, let stream = self.trackable.streams[tail.stream] else { return }
        self.trackable.tail = nil
        self.changed.insert(tail.stream)
        if changes.coverage[stream.number] == nil {
            changes.coverage[stream.number] = CoverageChange(before: stream.coverage.before(tail.seqs))
        }
    }

    /// Completes the changes after all recordings were processed.
    ///
    /// - Parameters:
    ///   - changes: The changes to complete.
    ///   - leavingTail: `true` when the rows may lag behind the last points, as ``PointTail`` describes.
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

    /// `true` when the rows of the trackable and its stream can remain unchanged, because the batch contained only
    /// points that extend the tail (``PointTail``).
    private var isTailLeft: Bool {
        self.isFollowing && self.changed.isEmpty && self.recent == self.trackable.recent
            && (self.trackable.tail.map { $0.seqs.count <= PointTail.maximumCount } ?? true)
            && self.isInKnownBox
    }

    /// `true` when the enlarged box in the trackable's row still equals the enlarged box of the open run of points.
    private var isInKnownBox: Bool {
        guard let known = self.run?.widened, let run = self.trackable.run?.widened else { return true }
        return known.hasBox(of: run)
    }

    /// Sorts the new points by time, and updates the runs and the last position.
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

    /// Returns `true` when a point directly follows the last position and the open run ends with that position.
    private func follows(_ row: PointRow) -> Bool {
        guard let last = self.trackable.last, !row.isFaulty, row.stream != 0 else { return false }
        return row.stream == last.stream && row.seq == last.seq &+ 1 && row.location.time > last.time
            && self.trackable.run?.last == last.time
    }
}
