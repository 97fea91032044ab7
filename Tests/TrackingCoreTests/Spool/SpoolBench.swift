import Testing
import TrackingCore

/// A log, a broker and recorders around the machine. They execute its actions at once and record them.
struct SpoolBench {
    var machine: SpoolStateMachine
    var now = MonotonicTime(.zero)
    private(set) var current: StreamID
    /// The records on disk.
    var disk: [StreamID: [UInt64: SpoolRecord]] = [:]
    /// The number of records that each query requested.
    var asked: [Int] = []
    /// Every batch, in the order in which it was published.
    var batches: [HistoryBatch] = []
    var removed: [StreamID: Set<UInt64>] = [:]
    var quarantined: [UInt64] = []
    /// The number of failed quarantines before one succeeds.
    var failingQuarantines = 0
    /// The records whose quarantine is in progress.
    var slowQuarantines: [RecordName]?
    var forgotten: [StreamID] = []
    /// The streams that began because numbers were used twice.
    var begun: [StreamID] = []
    /// The records that the broker acknowledged and that stay for a recorder that may be started later.
    var taken = SeqSet()
    var reportedDropped: [Int] = []
    var reportedRejections: [TrackingError.Code] = []
    /// Records that the log stores but cannot read any more.
    var damaged: Set<UInt64> = []

    init(
        _ configuration: SpoolStateMachine.Configuration = .init(), old: [StoredStream] = [], seed: UInt64 = 1
    ) {
        self.current = StreamID("current")!
        for stream in old {
            for range in stream.stored.ranges {
                for seq in range { self.disk[stream.id, default: [:]][seq] = Self.record(seq) }
            }
        }
        self.machine = SpoolStateMachine(
            configuration: configuration, streams: old, current: self.current, seed: seed, now: self.now)
    }

    static func record(_ seq: UInt64) -> SpoolRecord {
        SpoolRecord(seq: seq, time: UnixTime(Double(seq)), kind: .point, payload: Array("\(seq)".utf8))
    }

    /// The numbers of the records in each batch.
    var sent: [[UInt64]] { self.batches.map { $0.records.map(\.seq) } }

    mutating func append(_ range: ClosedRange<UInt64>) {
        for seq in range { self.disk[self.current, default: [:]][seq] = Self.record(seq) }
        self.perform(self.machine.appended(SeqSet([range]), of: self.current, now: self.now))
    }

    mutating func open() { self.perform(self.machine.opened(now: self.now)) }
    mutating func close() { self.perform(self.machine.closed(now: self.now)) }
    mutating func answer(_ refusal: TrackingError? = nil) {
        self.perform(self.machine.answered(refusal, now: self.now))
    }
    mutating func refuse(_ code: TrackingError.Code) { self.answer(TrackingError(code, "refused")) }
    mutating func acknowledge(_ recorder: String, _ seq: UInt64, of stream: StreamID? = nil) throws {
        let acknowledgement = Acknowledgement(streams: [stream ?? self.current: seq])
        self.perform(self.machine.acknowledged(by: try ClientID(recorder), acknowledgement, now: self.now))
    }

    /// Advances the clock, and stops at each deadline.
    mutating func wait(_ duration: Duration) {
        let end = self.now.advanced(by: duration)
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            let before = self.machine.nextDeadline
            self.perform(self.machine.timerFired(now: self.now))
            // A deadline that the machine does not handle would loop forever.
            guard self.machine.nextDeadline != before else {
                Issue.record("the deadline \(deadline) was not dealt with")
                break
            }
        }
        self.now = end
    }

    mutating func perform(_ actions: [SpoolStateMachine.Action]) {
        for action in actions {
            switch action {
            case .read(let query): self.read(query)
            case .publish(let batch): self.batches.append(batch)
            case .remove(let stream, let seqs):
                for range in seqs.ranges {
                    for seq in range {
                        #expect(self.disk[stream]?.removeValue(forKey: seq) != nil, "\(seq) was removed twice")
                        self.removed[stream, default: []].insert(seq)
                    }
                }
            case .quarantine(let stream, let seq, _):
                self.slowQuarantines?.append(RecordName(stream: stream, seq: seq))
                if self.slowQuarantines == nil { self.quarantine(seq, of: stream) }
            case .begin(let stream, after: _):
                self.begun.append(stream)
                self.current = stream
            case .renumber(let stream, let seqs):
                let first = (self.disk[self.current]?.keys.max() ?? 0) + 1
                for (place, seq) in seqs.ranges.joined().enumerated() {
                    guard var record = self.disk[stream]?.removeValue(forKey: seq) else { continue }
                    record.seq = first + UInt64(place)
                    self.disk[self.current, default: [:]][record.seq] = record
                }
                let new = SeqSet([first...(first + UInt64(seqs.count) - 1)])
                self.perform(self.machine.appended(new, of: self.current, now: self.now))
            case .forget(let stream):
                #expect(self.disk[stream]?.isEmpty != false, "a stream was forgotten with records in it")
                self.forgotten.append(stream)
            case .taken(_, let seqs): self.taken.formUnion(seqs)
            case .reportDropped(let count): self.reportedDropped.append(count)
            case .reportRejection(let refusal): self.reportedRejections.append(refusal.code)
            }
        }
    }

    /// Quarantines a record, or reports a failure.
    mutating func quarantine(_ seq: UInt64, of stream: StreamID) {
        guard self.failingQuarantines == 0 else {
            self.failingQuarantines -= 1
            return self.perform(self.machine.setAsideFailed(seq, of: stream, now: self.now))
        }
        if self.disk[stream]?.removeValue(forKey: seq) != nil { self.quarantined.append(seq) }
        self.perform(self.machine.setAside(seq, of: stream, now: self.now))
    }

    private mutating func read(_ query: RecordQuery) {
        let stream = query.stream
        self.asked.append(query.seqs.count)
        var records: [SpoolRecord] = []
        var missing = SeqSet()
        var bytes = 0
        for seq in query.seqs.ranges.joined() {
            guard let record = self.disk[stream]?[seq], !self.damaged.contains(seq) else {
                missing.insert(seq)
                self.disk[stream]?[seq] = nil
                continue
            }
            bytes += record.payload.count
            if bytes > query.maximumBytes, !records.isEmpty { break }
            records.append(record)
        }
        self.perform(self.machine.loaded(SpoolRecords(records), missing: missing, by: query.number, now: self.now))
    }
}
