import TrackingCore
import TrackingSQLite

/// Copies the intact records, quarantined records, streams, stored values and marks of a damaged log into a new log.
struct SpoolSalvager {
    private static let recordsTogether = 2000

    /// The ids of the streams that the first pass through the damaged log found. The key is the number that stands for
    /// a stream in the rows of records. A number can have several ids, because two streams may have had the same number
    /// at different times.
    private var streams: [Int64: [StreamID]] = [:]
    private var known: [StreamID: SpoolBook.Stream] = [:]
    private var values: [String: StoredValue] = [:]
    private var places = SeqSet()
    private var orphans = OrphanedRecords()
    private var setAside = Set<SpoolEntry>()
    private var pending: [(place: Int64, stream: StreamID, record: SpoolRecord)] = []
    private var marks: [StoredMark] = []
    private var count = 0

    /// Copies all intact rows of the log at `path` into `file`, except the marks of records that were lost. The log at
    /// `path` remains unchanged.
    ///
    /// - Parameter reason: The description of the damage, for the result.
    static func salvage(_ path: String, into file: SpoolFile, reason: String) throws -> SpoolSalvage {
        let rows = LogRows(path: path)
        var salvager = SpoolSalvager()
        try rows.forEach { salvager.meet($0) }
        try salvager.begin(file)
        try rows.forEach { try salvager.take($0, file) }
        try salvager.flush(file)
        try rows.forEach { try salvager.takeMark($0, file) }
        try salvager.flushMarks(file)
        var report = SpoolSalvage(path: path, reason: reason, count: salvager.count)
        report.orphans = salvager.orphans.count
        report.missing = file.book.streams.compactMap { stream in
            guard stream.floor <= stream.last else { return nil }
            let gaps = SeqSet(stream.stored.gaps(in: stream.floor...stream.last))
            return gaps.isEmpty ? nil : SpoolPart(trackable: stream.trackable, stream: stream.id, seqs: gaps)
        }
        return report
    }

    /// Handles a row of the damaged log in the first of three passes: collects the streams, the stored values and the
    /// quarantined records. Of several versions of a stored value, the latest counts.
    private mutating func meet(_ row: LogRow) {
        switch row {
        case .stream(let stream):
            var newest = self.known[stream.id] ?? stream
            newest.last = max(newest.last, stream.last)
            newest.floor = max(newest.floor, stream.floor)
            self.known[stream.id] = newest
            if self.streams[stream.number]?.contains(stream.id) != true {
                self.streams[stream.number, default: []].append(stream.id)
            }
        case .value(let value):
            if self.values[value.name]?.version ?? 0 < value.version { self.values[value.name] = value }
        case .quarantined(let row): self.setAside.insert(row.entry)
        case .mark(let mark): self.orphans.expect(mark.name.stream)
        case .record: break
        }
    }

    private mutating func begin(_ file: SpoolFile) throws {
        let (streams, values) = (self.known.values.sorted { $0.number < $1.number }, self.values.values)
        for id in self.known.keys { self.orphans.expectNone(of: id) }
        try file.transaction(isDurable: false) { db in
            for stream in streams {
                _ = file.book.begin(stream.id, of: stream.trackable, isEnded: true)
                file.book.gaveOut(stream.last, of: stream.id)
                file.book.begins(at: stream.floor, stream.id)
            }
            for value in values { try file.set(value, db) }
        }
    }

    /// Handles a row of the damaged log in the second of three passes. Copies a record if the first pass found its
    /// stream, and copies a quarantined record. Ignores other rows.
    private mutating func take(_ row: LogRow, _ file: SpoolFile) throws {
        switch row {
        case .stream, .value, .mark: return
        case .quarantined(let row):
            guard self.setAside.remove(row.entry) != nil else { return }
            let place = self.place(row.place)
            let moved = QuarantinedRecord(place: place, entry: row.entry, reason: row.reason)
            try file.transaction(isDurable: false) { try file.insert(moved, $0) }
        case .record(let place, let number, let record, let checksum):
            guard let id = self.streams[number]?.first(where: { RecordChecksum($0).value(of: record) == checksum })
            else {
                if self.streams[number] == nil { self.orphans.add(record, number: number, checksum) }
                return
            }
            guard let stream = self.known[id], record.seq >= stream.floor, !stream.stored.contains(record.seq),
                !self.setAside.contains(SpoolEntry(record, of: stream.trackable, in: id))
            else { return }
            self.known[id]?.stored.insert(record.seq)
            self.pending.append((self.place(place), id, record))
            if self.pending.count >= Self.recordsTogether { try self.flush(file) }
        }
    }

    /// Handles a row of the damaged log in the third pass: copies the mark of an ingested record, unless the record is
    /// lost. Without its mark, a sender may send a lost record again.
    private mutating func takeMark(_ row: LogRow, _ file: SpoolFile) throws {
        guard case .mark(let mark) = row, !self.isLost(mark.name) else { return }
        self.marks.append(mark)
        if self.marks.count >= Self.recordsTogether { try self.flushMarks(file) }
    }

    private func isLost(_ name: RecordName) -> Bool {
        guard let stream = self.known[name.stream] else { return self.orphans.contains(name) }
        return name.seq >= stream.floor && !stream.stored.contains(name.seq)
    }

    private mutating func flushMarks(_ file: SpoolFile) throws {
        let marks = self.marks
        try file.transaction(isDurable: false) { db in for mark in marks { try file.insert(mark, db) } }
        self.marks = []
    }

    /// Returns the place (row id) for a copied row: its old place, or a new one if the old place is taken or out of
    /// range.
    private mutating func place(_ wanted: Int64) -> Int64 {
        let isFree = (1..<Int64(1) << 53).contains(wanted) && !self.places.contains(UInt64(wanted))
        let place = isFree ? UInt64(wanted) : (self.places.last ?? 0) + 1
        self.places.insert(place)
        return Int64(place)
    }

    private mutating func flush(_ file: SpoolFile) throws {
        let pending = self.pending
        try file.transaction(isDurable: false) { db in
            let statement = try DirectStatement("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", in: db)
            for (place, id, record) in pending {
                guard let stream = file.book[id] else { continue }
                try file.insert(record, of: stream, at: place, with: statement)
                let seq = SeqSet(CollectionOfOne(record.seq...record.seq))
                file.book.added(seq, of: id, bytes: record.payload.count)
            }
        }
        self.count += pending.count
        self.pending = []
    }
}
