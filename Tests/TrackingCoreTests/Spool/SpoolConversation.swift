import Testing
import TrackingCore

/// A conversation with a ``SpoolStateMachine`` for Tests/Scenarios/spool. It has the log and the clock around the machine, and
/// writes each action as one line.
struct SpoolConversation {
    private var machine: SpoolStateMachine?
    private var configuration = SpoolStateMachine.Configuration()
    private var stored: [StoredStream] = []
    private var current = StreamID("now")!
    private var batchesAhead = 1
    private var now = MonotonicTime(.zero)
    /// The letter of each batch identifier, in the order in which the batches were published.
    private var letters: [String: String] = [:]
    private var damaged: Set<UInt64> = []
    private var payloadSize = 10
    /// The queries and records that wait for an answer of the log.
    private var isReadingSlow = false
    private var query: RecordQuery?
    private var quarantining: RecordName?
    /// The stream that began after numbers were given out twice: the scenarios call it "next".
    private var next: StreamID?

    /// Lets one event happen.
    ///
    /// - Returns: The machine's actions, a line for each.
    mutating func happened(_ words: [String]) throws -> [String] {
        if self.machine == nil, try self.isSetting(words) { return [] }
        var machine = try self.started()
        defer { self.machine = machine }
        switch words[0] {
        case "wait":
            return self.wait(.seconds(try #require(Double(words[1]))), &machine)
        case "slow": self.isReadingSlow = true
        case "damage": self.damaged.formUnion(try Self.numbers(words[1]).ranges.joined())
        case "status": return [self.status(of: machine)]
        case "read":
            let query = try #require(self.query, "no query waits for an answer")
            self.query = nil
            return self.lines(
                words[1] == "fails" ? machine.readFailed(query.number, now: self.now) : self.read(query, &machine),
                &machine)
        default: return self.lines(try self.actions(words, &machine), &machine)
        }
        return []
    }

    /// Applies a line in front of the first event: `batch 3`, `window 20|off`, `bytes 100`, `recorders a,b`,
    /// `unnamed running|later`, `ahead 4`, `payload 10`, `stored STREAM 1-5 [last 9] [current]`.
    private mutating func isSetting(_ words: [String]) throws -> Bool {
        switch words[0] {
        case "batch": self.configuration.batchSize = try #require(Int(words[1]))
        case "window": self.configuration.batchWindow = Double(words[1]).map { .seconds($0) }
        case "bytes": self.configuration.batchBytes = try #require(Int(words[1]))
        case "payload": self.payloadSize = try #require(Int(words[1]))
        case "recorders":
            self.configuration.recorders = Set(try words[1].split(separator: ",").map { try ClientID(String($0)) })
        case "unnamed": self.configuration.unnamedRecorder = words[1] == "later" ? .startedLater : .running
        case "ahead": self.batchesAhead = try #require(Int(words[1]))
        case "stored":
            let seqs = words[2] == "nothing" ? SeqSet() : try Self.numbers(words[2])
            let id = try #require(StreamID(words[1]))
            let last = try words.firstIndex(of: "last").map { try #require(UInt64(words[$0 + 1])) }
            self.stored.append(StoredStream(id: id, stored: seqs, last: last ?? 0))
            if words.contains("current") { self.current = id }
        default: return false
        }
        return true
    }

    private func started() throws -> SpoolStateMachine {
        if let machine = self.machine { return machine }
        var machine = SpoolStateMachine(
            configuration: self.configuration, streams: self.stored, current: self.current, seed: 1, now: self.now)
        machine.batchesAhead = self.batchesAhead
        return machine
    }

    private mutating func actions(
        _ words: [String], _ machine: inout SpoolStateMachine
    ) throws -> [SpoolStateMachine.Action] {
        switch words[0] {
        case "append": return machine.appended(try Self.numbers(words[1]), of: self.current, now: self.now)
        case "append-fails":
            machine.appendFailed(try Self.numbers(words[1]))
            return []
        case "open": return machine.opened(now: self.now)
        case "close": return machine.closed(isOrderly: words.contains("orderly"), now: self.now)
        case "accepted": return machine.answered(nil, now: self.now)
        case "rejected": return machine.answered(try Self.error(words[1]), now: self.now)
        case "send-now": return machine.sendNow(now: self.now)
        case "flush": return machine.flush(now: self.now)
        case "defer":
            machine.held()
            return []
        case "release": return machine.released(through: try #require(UInt64(words[1])), now: self.now)
        case "acknowledge":
            let seq = try #require(UInt64(words[3]))
            let streams = [try #require(StreamID(words[2])): seq]
            return machine.acknowledged(
                by: try ClientID(words[1]), Acknowledgement(streams: streams),
                isRetained: words.contains("retained"), now: self.now)
        default: return try self.logActions(words, &machine)
        }
    }

    private mutating func logActions(
        _ words: [String], _ machine: inout SpoolStateMachine
    ) throws -> [SpoolStateMachine.Action] {
        switch words[0] {
        case "live": machine.sentLive(try Self.numbers(words[1]))
        case "live-accepted": return machine.takenLive(try Self.numbers(words[1]), now: self.now)
        case "live-fails": return machine.failedLive(try Self.numbers(words[1]), now: self.now)
        case "drop":
            return machine.dropped(
                try Self.numbers(words[2]), of: try #require(StreamID(words[1])), now: self.now)
        case "purge":
            return machine.cleared(
                try Self.numbers(words[2]), of: try #require(StreamID(words[1])), now: self.now)
        case "quarantine":
            let name = try #require(self.quarantining, "no record is being quarantined")
            self.quarantining = nil
            return words[1] == "fails"
                ? machine.setAsideFailed(name.seq, of: name.stream, now: self.now)
                : machine.setAside(name.seq, of: name.stream, now: self.now)
        default: Issue.record("'\(words[0])' is no event of a log")
        }
        return []
    }

    /// Advances the clock, and stops at each deadline.
    private mutating func wait(_ duration: Duration, _ machine: inout SpoolStateMachine) -> [String] {
        let end = self.now.advanced(by: duration)
        var lines: [String] = []
        while let deadline = machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            let own = self.lines(machine.timerFired(now: self.now), &machine)
            lines += own.isEmpty ? [] : ["at \(Self.seconds(self.now)) s"] + own
            guard machine.nextDeadline != deadline else {
                Issue.record("the machine does not act on its deadline at \(deadline)")
                break
            }
        }
        self.now = end
        return lines
    }

    // MARK: - Lines

    private mutating func lines(
        _ actions: [SpoolStateMachine.Action], _ machine: inout SpoolStateMachine
    ) -> [String] {
        var lines: [String] = []
        for action in actions {
            switch action {
            case .read(let query):
                lines.append("read \(self.name(query.stream)) \(Self.text(query.seqs))")
                guard !self.isReadingSlow else {
                    self.query = query
                    continue
                }
                lines += self.lines(self.read(query, &machine), &machine)
            case .publish(let batch): lines.append(self.text(of: batch))
            case .remove(let stream, let seqs): lines.append("remove \(self.name(stream)) \(Self.text(seqs))")
            case .taken(let stream, let seqs):
                lines.append("accepted by the broker: \(self.name(stream)) \(Self.text(seqs))")
            case .quarantine(let stream, let seq, let error):
                self.quarantining = RecordName(stream: stream, seq: seq)
                lines.append("quarantine \(self.name(stream)) \(seq): \(error.code)")
            case .begin(let stream, after: let old):
                (self.next, self.current) = (stream, stream)
                lines.append("begin next after \(old)")
            case .renumber(let stream, let seqs): lines.append("renumber \(self.name(stream)) \(Self.text(seqs))")
            case .forget(let stream): lines.append("forget \(self.name(stream))")
            case .reportDropped(let count): lines.append("report \(count) dropped")
            case .reportRejection(let error): lines.append("report rejection: \(error.code)")
            }
        }
        return lines
    }

    private func read(_ query: RecordQuery, _ machine: inout SpoolStateMachine) -> [SpoolStateMachine.Action] {
        var records: [SpoolRecord] = []
        var missing = SeqSet()
        for seq in query.seqs.ranges.joined() {
            guard !self.damaged.contains(seq) else {
                missing.insert(seq)
                continue
            }
            guard records.isEmpty || (records.count + 1) * self.payloadSize <= query.maximumBytes else { break }
            let payload = [UInt8](repeating: 0x20, count: self.payloadSize)
            records.append(SpoolRecord(seq: seq, time: UnixTime(Double(seq)), kind: .point, payload: payload))
        }
        return machine.loaded(SpoolRecords(records), missing: missing, by: query.number, now: self.now)
    }

    private mutating func text(of batch: HistoryBatch) -> String {
        let next = String(UnicodeScalar(UInt8(ascii: "A") + UInt8(self.letters.count % 26)))
        let letter = self.letters[batch.id] ?? next
        self.letters[batch.id] = letter
        var text = "batch \(letter) of \(self.name(batch.stream)): "
        text += batch.records.isEmpty ? "no records" : Self.text(batch.records.seqs)
        text += ", oldest \(batch.oldest)"
        if !batch.gone.isEmpty { text += ", gone \(Self.text(SeqSet(batch.gone)))" }
        if batch.remaining > 0 { text += ", \(batch.remaining) behind it" }
        if let end = batch.end { text += ", end \(end)" }
        return text
    }

    private func status(of machine: SpoolStateMachine) -> String {
        let deadline = machine.nextDeadline.map { "deadline at \(Self.seconds($0)) s" } ?? "no deadline"
        return "\(machine.queued) stored, \(machine.unsent) not accepted, \(machine.done) safe, "
            + "\(machine.quarantined) quarantined, \(machine.dropped) dropped, \(deadline)"
    }

    private func name(_ stream: StreamID) -> String { stream == self.next ? "next" : stream.rawValue }

    private static func seconds(_ time: MonotonicTime) -> String {
        let (seconds, attoseconds) = MonotonicTime(.zero).duration(to: time).components
        let tenths = (Double(seconds) + Double(attoseconds) / 1e18) * 10
        return "\(tenths.rounded() / 10)"
    }

    private static func text(_ seqs: SeqSet) -> String {
        seqs.ranges.map { $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }

    /// Reads numbers such as `1-3,5`.
    private static func numbers(_ text: String) throws -> SeqSet {
        SeqSet(
            try text.split(separator: ",").map { part in
                let ends = try part.split(separator: "-").map { try #require(UInt64($0)) }
                return try #require(ends.first)...(try #require(ends.last))
            })
    }

    private static func error(_ name: String) throws -> TrackingError {
        switch name {
        case "too-large": return TrackingError(.payloadTooLarge, "the broker rejects the size of the batch")
        case "forbidden": return TrackingError(.notAuthorized, "the broker forbids the topic")
        default: return TrackingError(.refused, "the broker rejects the batch")
        }
    }
}
