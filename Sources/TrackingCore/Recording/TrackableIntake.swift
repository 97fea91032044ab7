/// One trackable while it takes the recordings of a batch.
struct TrackableIntake {
    private(set) var trackable: RecordingLedger.Trackable
    private let id: TrackableID
    private let last: PointName?
    private let run: PointRun?
    private let recent: [StreamID]
    private var points: [PointRow] = []
    private var changed: Set<StreamID> = []

    init(_ id: TrackableID, _ trackable: RecordingLedger.Trackable) {
        self.id = id
        self.trackable = trackable
        self.last = trackable.last
        self.run = trackable.run
        self.recent = trackable.recent
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
            self.change(declaration.stream, &changes) { $0.declare(declaration) }
        }
        if let state = recording.state {
            changes.states.append(
                StateRow(trackable: self.trackable.number, receivedAt: recording.receivedAt, change: state))
        }
    }

    mutating func refuse(_ seq: UInt64, of stream: StreamID, _ changes: inout RecordingChanges) {
        self.change(stream, &changes) { if !$0.isFull { $0.declare(seq...seq, .refused) } }
    }

    private mutating func take(_ point: Location, receivedAt: UnixTime, _ changes: inout RecordingChanges) {
        var row = PointRow(trackable: self.trackable.number, location: point)
        row.hasClockFault = RecordedTime.isFault(point.time, receivedAt: receivedAt)
        if let stream = point.stream, let seq = point.seq {
            guard let number = self.record(seq, of: stream, at: point.time, &changes) else { return }
            row.stream = number
            row.seq = Int64(clamping: seq)
            if row.hasClockFault { changes.clockFaults[number, default: 0] += 1 }
        } else {
            if let before = self.trackable.erasedBefore, point.time < before { return }
        }
        self.points.append(row)
    }

    /// A record came.
    ///
    /// - Returns: The key of its stream; `nil` when it is not to be stored.
    private mutating func record(
        _ seq: UInt64, of stream: StreamID, at time: UnixTime, _ changes: inout RecordingChanges
    ) -> Int64? {
        if let before = self.trackable.erasedBefore, time < before {
            self.change(stream, &changes) { $0.declare(seq...seq, .erased) }
            return nil
        }
        guard let number = self.trackable.streams[stream]?.number else { return nil }
        var isNew = false
        var isFull = false
        self.change(stream, &changes) { coverage in
            isFull = coverage.isFull && !coverage.touches(seq)
            isNew = !isFull && coverage.store(seq)
        }
        if isFull {
            changes.tooManyGaps.insert(number)
        } else if !isNew {
            changes.duplicates[number, default: 0] += 1
        }
        return isNew ? number : nil
    }

    /// Changes what is known of a stream, from which something came just now.
    private mutating func change(
        _ id: StreamID, _ changes: inout RecordingChanges, _ body: (inout StreamCoverage) -> Void
    ) {
        guard let index = self.trackable.streams.index(forKey: id) else { return }
        let number = self.trackable.streams.values[index].number
        if changes.coverage[number] == nil {
            changes.coverage[number] = CoverageChange(before: self.trackable.streams.values[index].coverage)
        }
        self.changed.insert(id)
        body(&self.trackable.streams.values[index].coverage)
        if self.trackable.recent.last != id {
            self.trackable.recent.removeAll { $0 == id }
            self.trackable.recent.append(id)
            self.trackable.recent.removeFirst(max(0, self.trackable.recent.count - Acknowledgement.maximumStreams))
        }
    }

    /// What has come of all that was taken.
    mutating func finish(_ changes: inout RecordingChanges) {
        self.place(&changes)
        for id in self.changed {
            guard let stream = self.trackable.streams[id] else { continue }
            changes.coverage[stream.number]?.after = stream.coverage
        }
        let isChanged =
            self.last != self.trackable.last || self.run != self.trackable.run || self.recent != self.trackable.recent
        if isChanged { changes.trackables[self.trackable.number] = self.trackable }
    }

    /// Sorts the new points by time, and enters them into the index by place and among the last positions.
    private mutating func place(_ changes: inout RecordingChanges) {
        let isOrdered = zip(self.points, self.points.dropFirst()).allSatisfy { $0.location.time <= $1.location.time }
        if !isOrdered { self.points.sort { $0.location.time < $1.location.time } }
        for row in self.points {
            let (place, time) = (row.location.coordinate, row.location.time)
            if self.trackable.run?.add(place, at: time) != true {
                if let full = self.trackable.run { changes.runs.append(RunRow(self.trackable.number, full)) }
                self.trackable.run = PointRun(place, at: time)
            }
            if !row.hasClockFault, self.trackable.last.map({ $0 < row.name }) ?? true { self.trackable.last = row.name }
        }
        changes.points += self.points
        self.points = []
    }
}
