import Synchronization

/// A device's log of records, held in memory for tests. The records survive ``close()`` and ``crash()`` while the
/// object exists.
public final class InMemorySpool: SpoolStorage {
    private struct Stream {
        var id: StreamID
        var trackable: TrackableID
        var records: [UInt64: (place: Int64, record: SpoolRecord)] = [:]
        var last: UInt64 = 0
        var isEnded = false
    }

    private struct State {
        var isOpen = false
        var isOrderly = false
        var streams: [Stream] = []
        var values: [String: [UInt8]] = [:]
        var quarantine: [QuarantinedRecord] = []
        /// For each trackable, the marks of those of its records that came from another source, such as a phone. A mark
        /// is a record's identity by time and content. `name` is the name of the record, and `added` the time at which
        /// the mark was stored. The oldest mark comes first.
        var marks: [TrackableID: [(mark: RecordMark, name: RecordName, added: UnixTime)]] = [:]
        var nextPlace: Int64 = 1
        var failure: TrackingError?
        var appends = 0
        var dropped = 0

        func place(of id: StreamID) -> Int? { self.streams.firstIndex { $0.id == id } }

        mutating func remember(_ entry: SpoolEntry, now: UnixTime, knowsAges: Bool) {
            guard let mark = entry.mark else { return }
            self.marks[entry.trackable, default: []].append((mark, entry.name, now))
            if self.marks[entry.trackable]?.count ?? 0 >= RecordMark.maximumCount + RecordMark.slack {
                self.marks[entry.trackable]?.removeFirst(RecordMark.slack)
            }
            guard knowsAges else { return }
            let old = self.marks[entry.trackable]?.prefix { now.since($0.added) > RecordMark.maximumAge }.count ?? 0
            if old > 0 { self.marks[entry.trackable]?.removeFirst(old) }
        }

        /// Removes damaged or missing records from a stream, together with the marks that identify them. `place` is the
        /// index of the stream.
        mutating func lose(_ seqs: SeqSet, at place: Int) {
            guard !seqs.isEmpty else { return }
            let (id, trackable) = (self.streams[place].id, self.streams[place].trackable)
            let lost = Set(self.streams[place].records.keys.filter(seqs.contains))
            guard !lost.isEmpty else { return }
            for seq in lost { self.streams[place].records[seq] = nil }
            self.marks[trackable]?.removeAll { $0.name.stream == id && lost.contains($0.name.seq) }
        }

        mutating func append(_ records: [SpoolEntry], now: UnixTime, knowsAges: Bool) throws(TrackingError) {
            guard self.isOpen else {
                throw TrackingError(.stopped, "cannot use the log: it is not open. Open it first")
            }
            var failure = self.failure
            for entry in records {
                guard let place = self.place(of: entry.stream) else { continue }
                if self.streams[place].records[entry.record.seq] != nil {
                    failure = TrackingError(
                        .spoolFailed,
                        "cannot append record \(entry.record.seq) to the log: its stream already has that record. Append it with the stream's next number"
                    )
                }
                self.streams[place].last = max(self.streams[place].last, entry.record.seq)
            }
            if let failure { throw failure }
            self.appends += 1
            for entry in records {
                let place = self.stream(entry.stream, of: entry.trackable)
                self.streams[place].records[entry.record.seq] = (self.nextPlace, entry.record)
                self.streams[place].last = max(self.streams[place].last, entry.record.seq)
                self.nextPlace += 1
                self.remember(entry, now: now, knowsAges: knowsAges)
            }
        }

        mutating func putBack(_ entry: SpoolEntry, from row: QuarantinedRecord) {
            let (old, new) = (row.entry.name, entry.name)
            for place in self.marks[entry.trackable]?.indices ?? 0..<0
            where self.marks[entry.trackable]?[place].name == old {
                self.marks[entry.trackable]?[place].name = new
            }
            self.quarantine.removeAll { $0.place == row.place }
        }

        private mutating func stream(_ id: StreamID, of trackable: TrackableID) -> Int {
            if let place = self.place(of: id) { return place }
            for place in self.streams.indices where self.streams[place].trackable == trackable {
                self.streams[place].isEnded = true
            }
            self.streams.append(Stream(id: id, trackable: trackable))
            return self.streams.count - 1
        }
    }

    private let state = Mutex(State())

    /// Makes an empty log in memory, which is not open yet.
    public init() {}

    /// Simulates a crash: ends the log without closing it properly. When it is opened again, its streams have ended.
    public func crash() { self.state.withLock { $0.isOpen = false } }

    /// Makes every following operation of the log except ``close()`` fail with `error`; `nil` lets the operations
    /// succeed again.
    public func fail(with error: TrackingError?) { self.state.withLock { $0.failure = error } }

    /// Simulates damage to one record, so that the record can no longer be read. The next attempt to read it removes it
    /// from the log.
    public func damage(_ seq: UInt64, of stream: StreamID) {
        self.state.withLock { state in
            guard let place = state.place(of: stream) else { return }
            state.streams[place].records[seq]?.record.payload = []
        }
    }

    /// The number of successful calls of ``append(_:state:now:knowsAges:)`` and ``putBack(_:of:in:)``.
    public var appends: Int { self.state.withLock { $0.appends } }

    /// `nil`, because this log works on the caller's thread. See ``SpoolStorage/executor``.
    public var executor: (any TaskExecutor)? { nil }

    /// Opens the log in memory, and returns its contents. If it was not closed properly, its streams have ended. See
    /// ``SpoolStorage/open(now:)``.
    public func open(now: UnixTime) async throws(TrackingError) -> SpoolContents {
        try self.state.withLock { state throws(TrackingError) in
            if let failure = state.failure { throw failure }
            guard !state.isOpen else {
                throw TrackingError(.spoolFailed, "cannot open the log: it is already open. Close it first")
            }
            if !state.isOrderly { for place in state.streams.indices { state.streams[place].isEnded = true } }
            state.isOpen = true
            state.isOrderly = false
            var contents = SpoolContents(state: state.values)
            for stream in state.streams {
                let seqs = SeqSet(stream.records.keys.sorted().map { $0...$0 })
                contents.trackables[stream.trackable, default: .init()].streams.append(
                    StoredStream(id: stream.id, stored: seqs, last: stream.last))
                if !stream.isEnded { contents.trackables[stream.trackable]?.current = stream.id }
            }
            return contents
        }
    }

    /// Appends records to the log and stores small values of the publisher. Either everything is stored or nothing. See
    /// ``SpoolStorage/append(_:state:now:knowsAges:)``.
    public func append(
        _ records: [SpoolEntry], state values: [String: [UInt8]?], now: UnixTime, knowsAges: Bool
    ) async throws(TrackingError) {
        try self.state.withLock { state throws(TrackingError) in
            try state.append(records, now: now, knowsAges: knowsAges)
            for (name, value) in values { state.values[name] = value }
        }
    }

    /// Returns the names of the records that have the given marks, the identities by time and content. See
    /// ``SpoolStorage/known(_:of:)``.
    public func known(
        _ marks: [RecordMark], of trackable: TrackableID
    ) async throws(TrackingError) -> [RecordMark: RecordName] {
        try self.withOpen { state in
            let wanted = Set(marks)
            return (state.marks[trackable] ?? []).reduce(into: [:]) { known, entry in
                if wanted.contains(entry.mark) { known[entry.mark] = entry.name }
            }
        }
    }

    /// Reads records of a stream in order of `seq`. See ``SpoolStorage/read(_:_:maximumCount:maximumBytes:)``.
    public func read(
        _ stream: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int
    ) async throws(TrackingError) -> SpoolReading {
        try self.withOpen { state in
            guard let place = state.place(of: stream) else { return SpoolReading(missing: seqs) }
            var reading = SpoolReading()
            var bytes = 0
            for seq in state.streams[place].records.keys.sorted() where seqs.contains(seq) {
                guard let record = state.streams[place].records[seq]?.record, !record.payload.isEmpty else { continue }
                let fits = reading.records.isEmpty || bytes + record.payload.count <= maximumBytes
                guard reading.records.count < maximumCount, fits else {
                    reading.missing = seqs.through(seq - 1)
                    break
                }
                bytes += record.payload.count
                reading.records.append(record)
                reading.missing = seqs
            }
            if reading.records.isEmpty { reading.missing = seqs }
            for record in reading.records { reading.missing.remove(record.seq...record.seq) }
            state.lose(reading.missing, at: place)
            return reading
        }
    }

    /// Removes records from the log because they are safely stored elsewhere. See ``SpoolStorage/remove(_:of:)``.
    public func remove(_ seqs: SeqSet, of stream: StreamID) async throws(TrackingError) {
        try self.withOpen { state in
            guard let place = state.place(of: stream) else { return }
            state.streams[place].records = state.streams[place].records.filter { !seqs.contains($0.key) }
        }
    }

    /// Returns the records in the log in the order in which they were appended. See
    /// ``SpoolStorage/waiting(after:through:maximumCount:)``.
    public func waiting(
        after place: Int64, through last: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [WaitingRecord] {
        try self.withOpen { state in
            let rows = state.streams.flatMap { stream in
                stream.records.values
                    .filter { $0.place > place && $0.place <= last && !$0.record.payload.isEmpty }
                    .map {
                        WaitingRecord(
                            place: $0.place, entry: SpoolEntry($0.record, of: stream.trackable, in: stream.id))
                    }
            }
            return Array(rows.sorted { $0.place < $1.place }.prefix(maximumCount))
        }
    }

    /// Sets a record aside (quarantine), because it can never be accepted. See
    /// ``SpoolStorage/quarantine(_:of:reason:)``.
    public func quarantine(_ seq: UInt64, of stream: StreamID, reason: String) async throws(TrackingError) {
        try self.withOpen { state in
            guard let place = state.place(of: stream), let row = state.streams[place].records.removeValue(forKey: seq)
            else { return }
            let entry = SpoolEntry(row.record, of: state.streams[place].trackable, in: stream)
            state.quarantine.append(QuarantinedRecord(place: row.place, entry: entry, reason: reason))
            state.quarantine.sort { $0.place < $1.place }
        }
    }

    /// Returns the quarantined records of the log, oldest first. See ``SpoolStorage/quarantined(after:maximumCount:)``.
    public func quarantined(
        after place: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [QuarantinedRecord] {
        try self.withOpen { state in Array(state.quarantine.filter { $0.place > place }.prefix(maximumCount)) }
    }

    /// Moves quarantined records back to the records to be sent. See ``SpoolStorage/putBack(_:of:in:)``.
    public func putBack(
        _ records: [PutBackRecord], of trackable: TrackableID, in stream: StreamID
    ) async throws(TrackingError) {
        try self.state.withLock { state throws(TrackingError) in
            var rows: [(entry: SpoolEntry, row: QuarantinedRecord)] = []
            for record in records {
                guard let row = state.quarantine.first(where: { $0.place == record.place }) else {
                    throw TrackingError(
                        .spoolFailed,
                        "cannot retry a quarantined record: another request has retried or dropped it meanwhile. List the quarantined records again"
                    )
                }
                rows.append((SpoolEntry(record.record, of: trackable, in: stream), row))
            }
            try state.append(rows.map(\.entry), now: UnixTime(0), knowsAges: false)
            for (entry, row) in rows { state.putBack(entry, from: row) }
        }
    }

    /// Deletes quarantined records from the log. See ``SpoolStorage/dropQuarantined(_:)``.
    public func dropQuarantined(_ places: [Int64]?) async throws(TrackingError) -> Int {
        try self.withOpen { state in
            let before = state.quarantine.count
            state.quarantine.removeAll { places?.contains($0.place) ?? true }
            return before - state.quarantine.count
        }
    }

    /// Removes a stream without records from the log. See ``SpoolStorage/forget(_:)``.
    public func forget(_ stream: StreamID) async throws(TrackingError) {
        try self.withOpen { state in state.streams.removeAll { $0.id == stream && $0.records.isEmpty } }
    }

    /// Removes the oldest records until the log is within its limits. See ``SpoolStorage/trim(to:now:)``.
    public func trim(to limits: SpoolLimits, now: UnixTime) async throws(TrackingError) -> [SpoolPart] {
        try self.withOpen { state in
            let count = state.streams.reduce(0) { $0 + $1.records.count }
            // The method is called after every append, so the records are examined only when the count does not
            // suffice.
            guard count > limits.maximumCount ?? .max || limits.maximumBytes != nil || limits.maximumAge != nil else {
                return []
            }
            let rows = state.streams.enumerated()
                .flatMap { stream in stream.element.records.values.map { (stream.offset, $0) } }
                .sorted { $0.1.place < $1.1.place }
            let bytes = rows.reduce(0) { $0 + $1.1.record.payload.count }
            var trimming = SpoolTrimming(limits: limits, count: rows.count, bytes: bytes, now: now)
            var cut = 0
            for (index, row) in rows.enumerated() {
                let verdict = trimming.consider(bytes: row.1.record.payload.count, time: row.1.record.time)
                if verdict == .goes { cut = index + 1 }
                if verdict == .stays { break }
            }
            state.dropped += cut
            var gone: [Int: SpoolPart] = [:]
            for (place, row) in rows.prefix(cut) {
                let stream = state.streams[place]
                gone[place, default: SpoolPart(trackable: stream.trackable, stream: stream.id, seqs: SeqSet())].seqs
                    .insert(row.record.seq)
                state.streams[place].records[row.record.seq] = nil
            }
            return Array(gone.values)
        }
    }

    /// Returns the number and size of the records in the log. See ``SpoolStorage/summary()``.
    public func summary() async throws(TrackingError) -> SpoolSummary {
        try self.withOpen { state in
            var summary = SpoolSummary(
                dropped: state.dropped, quarantined: state.quarantine.count, lastPlace: state.nextPlace - 1)
            for (id, streams) in Dictionary(grouping: state.streams, by: \.trackable) {
                let rows = streams.flatMap(\.records.values)
                guard !rows.isEmpty else { continue }
                let kinds = Dictionary(grouping: rows, by: \.record.kind).mapValues(\.count)
                summary.trackables[id] = SpoolAmount(
                    points: kinds[.point] ?? 0, trips: kinds[.trip] ?? 0, events: kinds[.event] ?? 0,
                    bytes: rows.reduce(0) { $0 + $1.record.payload.count },
                    oldest: rows.min { $0.place < $1.place }?.record.time)
            }
            return summary
        }
    }

    /// Closes the log properly. See ``SpoolStorage/close()``.
    public func close() async throws(TrackingError) {
        self.state.withLock { state in
            state.isOrderly = state.isOrderly || state.isOpen
            state.isOpen = false
        }
    }

    private func withOpen<Value>(_ body: (inout State) -> sending Value) throws(TrackingError) -> Value {
        try self.state.withLock { state throws(TrackingError) in
            guard state.isOpen else {
                throw TrackingError(.stopped, "cannot use the log: it is not open. Open it first")
            }
            if let failure = state.failure { throw failure }
            return body(&state)
        }
    }
}
