/// Which batch is next, and what its answer means.
extension SpoolStateMachine {
    /// Starts what can be started now.
    mutating func progress(now: MonotonicTime) -> [Action] {
        // What was asked for is gone: what comes was not.
        if self.isOneBatchUrgent, self.unsent == 0 { self.isOneBatchUrgent = false }
        var actions = self.tellDropped() + self.forgetDone()
        guard self.isOpen, self.phase == .idle else { return actions }
        if let refused = self.refused, self.holds(refused.name) {
            actions += self.setAside(refused)
        } else if self.isProbing || (self.attempt?.disconnections ?? 0 > 0 && !self.isTopicAllowed) {
            // A batch that was followed by a disconnect goes again only on a connection that is seen to work.
            actions.append(self.probe())
        } else if let attempt = self.attempt {
            actions += self.publish(attempt)
        } else if let next = self.nextBatch(now: now) {
            actions += self.begin(next.stream, next.seqs)
        } else if let place = self.streams.firstIndex(where: { $0.needsDeclaration && $0.ready.isEmpty }) {
            let attempt = Attempt(
                id: UUIDText.random(using: &self.random), stream: self.streams[place].id, records: [])
            self.attempt = attempt
            actions += self.publish(attempt)
        }
        return actions
    }

    /// The records of the next batch: of the oldest stream in which some are due.
    private func nextBatch(now: MonotonicTime) -> (stream: StreamID, seqs: SeqSet)? {
        for stream in self.sendableStreams {
            let ready = stream.ready
            guard !ready.isEmpty, self.isDue(ready, of: stream, now: now) else { continue }
            return (stream.id, stream.next(self.limit.current).seqs)
        }
        return nil
    }

    /// The streams whose records may go, oldest first: none behind one whose recorders are silent.
    var sendableStreams: ArraySlice<SpoolStream> {
        let stalled = self.streams.firstIndex { $0.stalledThrough != nil }
        return self.streams[...(stalled ?? self.streams.endIndex - 1)]
    }

    /// Sends these, as far as they were read already; else asks for them.
    private mutating func begin(_ stream: StreamID, _ seqs: SeqSet) -> [Action] {
        // What is under way makes a batch full.
        if self.isReading, self.ahead?.isFull(seqs.count, self.configuration.batchBytes) != true { return [] }
        self.takeLoaded(of: stream)
        if let attempt = self.attempt { return self.publish(attempt) }
        return self.isReading ? [] : [self.ask(for: seqs, of: stream, maximumBytes: self.configuration.batchBytes)]
    }

    private mutating func ask(for seqs: SeqSet, of stream: StreamID, maximumBytes: Int) -> Action {
        if self.ahead?.stream != stream { self.ahead = ReadAhead(of: stream) }
        self.lastQuery &+= 1
        self.ahead?.question = self.lastQuery
        return .read(RecordQuery(number: self.lastQuery, stream: stream, seqs: seqs, maximumBytes: maximumBytes))
    }

    /// Makes the next batch of what was read, where that is still what comes next.
    mutating func takeLoaded(of stream: StreamID) {
        guard self.ahead?.stream == stream, self.ahead?.count ?? 0 > 0, let place = self.place(of: stream) else {
            return
        }
        let next = self.streams[place].next(self.limit.current)
        let records = self.ahead?.take(
            from: next.batch == nil ? self.streams[place].ready : next.seqs, max(1, next.seqs.count),
            maximumBytes: self.configuration.batchBytes)
        guard let records, !records.isEmpty else { return }
        self.isOneBatchUrgent = false
        let id = next.batch ?? UUIDText.random(using: &self.random)
        self.attempt = Attempt(id: id, stream: stream, records: records)
        self.streams[place].batched(records.seqs)
    }

    /// While a batch is in flight the next ones are read, several together, where they would be full ones and go at once.
    private mutating func readAhead(of attempt: Attempt) -> [Action] {
        guard !self.isReading, let place = self.place(of: attempt.stream) else { return [] }
        let full = self.limit.current
        let together = max(1, self.batchesAhead / 2)
        let enough = self.batchesAhead - together + 1
        if self.ahead?.stream == attempt.stream,
            self.ahead?.isFull(enough * full, enough * self.configuration.batchBytes) == true
        {
            return []
        }
        let stream = self.streams[place]
        guard stream.repeats.isEmpty else { return [] }
        var rest = stream.ready
        // An answer that was read for another stream is of no use any more.
        let read = self.ahead?.stream == attempt.stream ? self.ahead?.last : nil
        rest.remove(0...max(attempt.seqs.last ?? 0, read ?? 0))
        guard let first = rest.first, rest.count >= full, self.mayGo(from: first, of: stream),
            rest.count >= self.configuration.batchSize || stream.isEnded || first <= stream.urgentThrough
        else { return [] }
        let batches = min(together, rest.count / full)
        return [
            self.ask(
                for: rest.prefix(batches * full), of: attempt.stream,
                maximumBytes: batches * self.configuration.batchBytes)
        ]
    }

    /// Whether records from this one on go without being asked for once more.
    func mayGo(from first: UInt64?, of stream: SpoolStream) -> Bool {
        if self.isOneBatchUrgent || first ?? .max <= stream.urgentThrough { return true }
        return !self.isHeld && self.configuration.batchWindow != nil
    }

    private func isDue(_ ready: SeqSet, of stream: SpoolStream, now: MonotonicTime) -> Bool {
        if self.isOneBatchUrgent || ready.first ?? .max <= stream.urgentThrough { return true }
        // Nothing goes by itself where the user wants to say when.
        guard !self.isHeld, let window = self.configuration.batchWindow else { return false }
        if ready.count >= self.configuration.batchSize || stream.isEnded { return true }
        guard let since = stream.waitingSince else { return false }
        return since.advanced(by: window) <= now
    }

    private mutating func publish(_ attempt: Attempt) -> [Action] {
        self.phase = .inFlight(isProbe: false)
        let batch = self.batch(attempt.id, attempt.stream, attempt.records, attempt.seqs)
        return [.publish(batch)] + self.readAhead(of: attempt)
    }

    private mutating func probe() -> Action {
        self.phase = .inFlight(isProbe: true)
        let stream = self.attempt?.stream ?? self.streams[self.streams.count - 1].id
        return .publish(self.batch(UUIDText.random(using: &self.random), stream, [], SeqSet()))
    }

    /// A batch with what is current about its stream: what was lost, what waits, whether more will come.
    private func batch(
        _ id: String, _ stream: StreamID, _ records: SpoolRecords, _ seqs: SeqSet
    ) -> HistoryBatch {
        var batch = HistoryBatch(id: id, stream: stream, oldest: 1, records: records)
        guard let place = self.place(of: stream) else { return batch }
        let state = self.streams[place]
        // A record that was let go while its batch waited is in the batch all the same.
        batch.oldest = min(state.oldest, seqs.first ?? .max)
        let reach = seqs.last ?? state.last
        if batch.oldest <= reach {
            var there = state.stored
            there.formUnion(seqs)
            batch.gone = there.gaps(in: batch.oldest...reach, limit: Self.maximumGoneRanges)
        }
        batch.remaining = max(0, state.pending.count - records.count)
        batch.end = state.isEnded ? state.last : nil
        return batch
    }

    // MARK: - Answers

    mutating func batchTaken(now: MonotonicTime) -> [Action] {
        guard let attempt = self.attempt else { return [] }
        self.attempt = nil
        self.refusal = nil
        self.lastWait = nil
        if !attempt.records.isEmpty { self.limit.taken() }
        guard let place = self.place(of: attempt.stream) else { return [] }
        self.streams[place].needsDeclaration = false
        let actions = self.taken(attempt.seqs, by: attempt.id, at: place, now: now)
        // A queue that is being worked off has waited already; what is left behind its last batch waits anew.
        if self.streams[place].ready.count < self.configuration.batchSize {
            self.streams[place].windowRestarted(now: now)
        }
        return actions
    }

    /// The broker took these records of the stream at `place`.
    ///
    /// - Parameter batch: The identifier of the batch that had them; `nil` for an update on the live lane.
    mutating func taken(_ seqs: SeqSet, by batch: String? = nil, at place: Int, now: MonotonicTime) -> [Action] {
        let there = seqs.intersection(self.streams[place].stored)
        guard !there.isEmpty else { return [] }
        guard self.configuration.needsRecorder else { return self.becameSafe(there, at: place) }
        let wait = self.acknowledgementWait(of: self.streams[place], afterProbes: self.streams[place].unheardProbes)
        self.streams[place].taken(there, by: batch, now: now, wait: wait)
        let answer = self.configuration.expectsLaterRecorder ? [Action.taken(self.streams[place].id, there)] : []
        return answer + self.removeSafe(at: place)
    }

    /// How long what the broker took waits for the recorders: longer after each time that they did not answer, with jitter.
    mutating func acknowledgementWait(of stream: SpoolStream, afterProbes count: Int) -> Duration {
        let first = stream.isReopened ? Self.reopenedWait : self.configuration.acknowledgementWait
        guard count > 0 else { return first }
        let wait = min(first * (1 << min(count, 16)), Self.longestSilence)
        return wait * Double.random(in: 0.5...1, using: &self.random)
    }

    /// Lets go what every recorder has.
    mutating func removeSafe(at place: Int) -> [Action] {
        guard self.configuration.needsRecorder else { return [] }
        let stream = self.streams[place].id
        let safe = self.streams[place].stored.through(self.safe(of: stream))
        return safe.isEmpty ? [] : self.becameSafe(safe, at: place)
    }

    /// The number up to which every named recorder has stored a stream; where none is named, any recorder.
    func safe(of stream: StreamID) -> UInt64 {
        guard !self.configuration.recorders.isEmpty else {
            return self.acknowledged.values.lazy.compactMap { $0[stream] }.max() ?? 0
        }
        return self.configuration.recorders.map { self.acknowledged[$0]?[stream] ?? 0 }.min() ?? 0
    }

    private mutating func becameSafe(_ seqs: SeqSet, at place: Int) -> [Action] {
        self.streams[place].removed(seqs)
        self.done += seqs.count
        if self.loss == .told, self.queued == 0 { self.loss = .none }
        return [.remove(self.streams[place].id, seqs)]
    }

    mutating func batchRefused(_ refusal: TrackingError, now: MonotonicTime) -> [Action] {
        guard let attempt = self.attempt, !attempt.records.isEmpty else { return self.wait(now: now) }
        let mayBeContent = Self.mayBeContent(refusal)
        if refusal.code == .payloadTooLarge || (mayBeContent && self.isTopicAllowed) {
            // A broker in trouble says this of everything: each time an empty batch tells first.
            if refusal.reasonCode == Self.implementationError { self.isTopicAllowed = false }
            return self.refusedForGood(attempt, refusal, now: now) + self.progress(now: now)
        }
        // The broker may forbid the topic, or what this batch says: an empty one tells which.
        self.isProbing = mayBeContent
        return self.wait(now: now)
    }

    /// MQTT 5, 2.4: "Implementation specific error".
    private static let implementationError: UInt8 = 0x83

    /// Whether it may be what a record says that is refused: by the broker's rules, or by one that looks into payloads.
    private static func mayBeContent(_ refusal: TrackingError) -> Bool {
        refusal.code == .notAuthorized || refusal.isContentRefusal
    }

    /// Told once, until a batch is taken.
    mutating func refused(_ refusal: TrackingError) -> [Action] {
        defer { self.refusal = refusal }
        // Too large is dealt with by halving it.
        return self.refusal == nil && refusal.code != .payloadTooLarge ? [.tellRefused(refusal)] : []
    }

    /// Half of it is tried by itself, down to the one record that is refused.
    mutating func refusedForGood(_ attempt: Attempt, _ refusal: TrackingError, now: MonotonicTime) -> [Action] {
        self.attempt = nil
        guard attempt.records.count == 1, let seq = attempt.seqs.first else {
            self.limit.refused(to: max(1, attempt.records.count / 2))
            if let place = self.place(of: attempt.stream) { self.streams[place].hurry(through: attempt.seqs.last ?? 0) }
            return []
        }
        self.limit.acquitted()
        self.refusal = nil
        return self.setAside(Refused(name: RecordName(stream: attempt.stream, seq: seq), reason: refusal))
    }

    private mutating func setAside(_ refused: Refused) -> [Action] {
        self.refused = refused
        self.phase = .settingAside
        return [.quarantine(refused.name.stream, refused.name.seq, refused.reason)]
    }

    /// The same batch again, after a wait that doubles, with jitter, up to the longest.
    mutating func wait(now: MonotonicTime) -> [Action] {
        let wait = min((self.lastWait ?? .milliseconds(500)) * 2, self.configuration.longestWait)
        self.lastWait = wait
        let jitter = Double.random(in: 0.5...1, using: &self.random)
        self.phase = .waiting(until: now.advanced(by: wait * jitter))
        return []
    }

    // MARK: - Ends

    private mutating func forgetDone() -> [Action] {
        let done = self.streams.filter { stream in
            stream.isDone && self.attempt?.stream != stream.id && !(self.isReading && self.ahead?.stream == stream.id)
        }
        guard !done.isEmpty else { return [] }
        let names = Set(done.map(\.id))
        self.streams.removeAll { names.contains($0.id) }
        for recorder in self.acknowledged.keys {
            for name in names { self.acknowledged[recorder]?[name] = nil }
        }
        return done.map { .forget($0.id) }
    }

    /// Once an outage: when the connection is back, or at once where it stands.
    private mutating func tellDropped() -> [Action] {
        guard self.isOpen, self.loss == .untold else { return [] }
        defer { self.droppedUntold = 0 }
        self.loss = .told
        return [.tellDropped(self.droppedUntold)]
    }

    func place(of stream: StreamID) -> Int? { self.streams.firstIndex { $0.id == stream } }
}
