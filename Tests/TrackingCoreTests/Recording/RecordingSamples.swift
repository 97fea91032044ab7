import TrackingCore

let now = UnixTime(1_790_000_000)
let van = try! TrackableID("van")  // a valid id
let stream = StreamID("one")!  // a valid id

func point(_ seq: UInt64?, of stream: StreamID? = stream, at time: Double? = nil) -> Location {
    let place = Coordinate(latitude: 52 + Double((seq ?? 0) % 1000) / 1000, longitude: -8.66)!  // in range
    var point = Location(coordinate: place, time: UnixTime(time ?? now.seconds + Double(seq ?? 0)))
    point.seq = seq
    point.stream = seq == nil ? nil : stream
    return point
}

func sample(number: Int64, streams: [StreamID: Int64]) -> RecordingLedger.Trackable {
    var trackable = RecordingLedger.Trackable(number: number)
    for (id, number) in streams { trackable.streams[id] = RecordingLedger.Stream(number: number) }
    return trackable
}

/// A model of a store's contents after any number of batches.
struct TableModel: Equatable {
    struct Key: Hashable {
        var trackable: Int64
        var stream: String
        var seq: Int64
        var time: UnixTime
    }

    var points: [Key: Location] = [:]
    var events: Set<[UInt8]> = []
    var trips: [String: Trip] = [:]
    var coverage: [String: [StreamCoverage.Range]] = [:]
    var last: [TrackableID: Location] = [:]
    var duplicates = 0
}

/// A store without a disk: fills in the ledger, and applies what it decides.
struct ModelStore {
    private(set) var tables = TableModel()
    private(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]
    private(set) var runs: [RunRow] = []
    private var ledger = RecordingLedger()
    private var names: [Int64: String] = [0: ""]
    private var next: Int64 = 0

    mutating func store(_ batch: RecordingBatch) {
        for missing in self.ledger.missing(for: batch) {
            var trackable = RecordingLedger.Trackable(number: self.ledger[missing.trackable]?.number ?? self.number())
            for stream in missing.streams {
                let number = self.number()
                self.names[number] = "\(missing.trackable)/\(stream)"
                trackable.streams[stream] = RecordingLedger.Stream(number: number)
            }
            self.ledger.fill(missing.trackable, trackable)
        }
        let changes = self.ledger.apply(batch, leavingTails: false)
        for row in changes.points {
            let key = TableModel.Key(
                trackable: 0, stream: self.names[row.stream] ?? "?", seq: row.seq, time: row.location.time)
            if self.tables.points[key] == nil { self.tables.points[key] = row.location }
        }
        for row in changes.events { self.tables.events.insert(row.document.json) }
        for row in changes.trips {
            let trip = row.document.value
            if self.tables.trips[trip.id].map({ trip.supersedes($0) }) ?? true { self.tables.trips[trip.id] = trip }
        }
        for (number, change) in changes.coverage {
            self.tables.coverage[self.names[number] ?? "?"] = change.after.ranges
        }
        self.runs += changes.runs
        self.acknowledgements.merge(changes.acknowledgements) { $1 }
        for id in changes.acknowledgements.keys {
            guard let last = self.ledger[id]?.last else { continue }
            self.tables.last[id] =
                self.tables.points.first { $0.key.time == last.time && $0.key.seq == last.seq }?.value
        }
    }

    var openRuns: [PointRun] { self.acknowledgements.keys.compactMap { self.ledger[$0]?.run } }

    mutating func erase(_ id: TrackableID, before time: UnixTime) {
        var trackable = self.ledger[id] ?? RecordingLedger.Trackable(number: self.number())
        trackable.erasedBefore = time
        self.ledger = RecordingLedger()
        self.ledger.fill(id, trackable)
    }

    private mutating func number() -> Int64 {
        self.next += 1
        return self.next
    }
}
