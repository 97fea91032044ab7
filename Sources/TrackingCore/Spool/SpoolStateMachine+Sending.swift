/// Selection of the next batch, and the answers to batches.
extension SpoolStateMachine {
    /// Starts every action that is possible now.
    mutating func progress(now: MonotonicTime) -> [Action] {
        // A requested batch of records that no longer exist does not apply to later records.
        if self.isOneBatchUrgent, self.unsent == 0 { self.isOneBatchUrgent = false }
        var actions = self.reportDropped() + self.forgetDone()
        guard self.isOpen, self.phase == .idle else { return actions }
        if let refused = self.rejection.record, self.holds(refused.name) {
            actions += self.setAside(refused)
        } else if self.rejection.isProbing || (self.attempt?.disconnections ?? 0 > 0 && !self.connection.isTopicAllowed)
        {
            // A batch that was followed by a disconnection is repeated only on a connection that is known to work.
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

    /// Returns the records of the next batch, from the oldest stream with due records.
    private func nextBatch(now: MonotonicTime) -> (stream: StreamID, seqs: SeqSet)? {
        for stream in self.sendableStreams {
            let ready = stream.ready
            guard !ready.isEmpty, self.isDue(ready, of: stream, now: now) else { continue }
            return (stream.id, stream.next(self.limit.current).seqs)
        }
        return nil
    }

    /// The streams whose records may be sent, oldest first. Streams behind one with silent recorders are excluded.
    var sendableStreams: ArraySlice<SpoolStream> {
        let stalled = self.streams.firstIndex { $0.recorders.stalledThrough != nil }
        return self.streams[...(stalled ?? self.streams.endIndex - 1)]
    }

    /// Sends records if they were read already; otherwise queries them.
    private mutating func begin(_ stream: StreamID, _ seqs: SeqSet) -> [Action] {
        // A pending query completes the batch.
        if self.isReading, self.reading.ahead?.isFull(seqs.count, self.configuration.batchBytes) != true { return [] }
        self.takeLoaded(of: stream)
        if let attempt = self.attempt { return self.publish(attempt) }
        return self.isReading ? [] : [self.ask(for: seqs, of: stream, maximumBytes: self.configuration.batchBytes)]
    }

    private mutating func ask(for seqs: SeqSet, of stream: StreamID, maximumBytes: Int) -> Action {
        if self.reading.ahead?.stream != stream { self.reading.ahead = ReadAhead(of: stream) }
        self.reading.lastQuery &+= 1
        self.reading.ahead?.question = self.reading.lastQuery
        return .read(
            RecordQuery(number: self.reading.lastQuery, stream: stream, seqs: seqs, maximumBytes: maximumBytes))
    }

    /// Makes the next batch of the records that were read, if they are still the next ones.
    mutating func takeLoaded(of stream: StreamID) {
        guard self.reading.ahead?.stream == stream, self.reading.ahead?.count ?? 0 > 0,
            let place = self.place(of: stream)
        else {
            return
        }
        let next = self.streams[place].next(self.limit.current)
        let records = self.reading.ahead?.take(
            from: next.batch == nil ? self.streams[place].ready : next.seqs, max(1, next.seqs.count),
            maximumBytes: self.configuration.batchBytes)
        guard let records, !records.isEmpty else { return }
        self.isOneBatchUrgent = false
        let id = next.batch ?? UUIDText.random(using: &self.random)
        self.attempt = Attempt(id: id, stream: stream, records: records)
        self.streams[place].batched(records.seqs)
    }

    /// Queries the records of the next batches while a batch is in flight. It reads several batches together if they
    /// are full and can be sent at once.
    private mutating func readAhead(of attempt: Attempt) -> [Action] {
        guard !self.isReading, let place = self.place(of: attempt.stream) else { return [] }
        let full = self.limit.current
        let together = max(1, self.batchesAhead / 2)
        let enough = self.batchesAhead - together + 1
        if self.reading.ahead?.stream == attempt.stream,
            self.reading.ahead?.isFull(enough * full, enough * self.configuration.batchBytes) == true
        {
            return []
        }
        let stream = self.streams[place]
        guard stream.repeats.isEmpty else { return [] }
        var rest = stream.ready
        // Records that were read for another stream are useless.
        let read = self.reading.ahead?.stream == attempt.stream ? self.reading.ahead?.last : nil
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

    /// Returns `true` when records from `first` on are sent without another request by the user.
    func mayGo(from first: UInt64?, of stream: SpoolStream) -> Bool {
        if self.isOneBatchUrgent || first ?? .max <= stream.urgentThrough { return true }
        return !self.isHeld && self.configuration.batchWindow != nil
    }

    private func isDue(_ ready: SeqSet, of stream: SpoolStream, now: MonotonicTime) -> Bool {
        if self.isOneBatchUrgent || ready.first ?? .max <= stream.urgentThrough { return true }
        // Without automatic sending, the user requests each transmission.
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

    /// Makes a batch with the current state of its stream: lost records, pending records, end.
    private func batch(
        _ id: String, _ stream: StreamID, _ records: SpoolRecords, _ seqs: SeqSet
    ) -> HistoryBatch {
        var batch = HistoryBatch(id: id, stream: stream, oldest: 1, records: records)
        guard let place = self.place(of: stream) else { return batch }
        let state = self.streams[place]
        // A record that was removed while its batch waited is still part of the batch.
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
        self.rejection.reason = nil
        self.backoff.reset()
        if !attempt.records.isEmpty { self.limit.taken() }
        guard let place = self.place(of: attempt.stream) else { return [] }
        self.streams[place].needsDeclaration = false
        let actions = self.taken(attempt.seqs, by: attempt.id, at: place, now: now)
        // The records of a large backlog have waited long enough. Those after its last batch wait for the full window
        // again.
        if self.streams[place].ready.count < self.configuration.batchSize {
            self.streams[place].windowRestarted(now: now)
        }
        return actions
    }

    /// Handles records of the stream at `place` that the broker acknowledged.
    ///
    /// - Parameters:
    ///   - seqs: The numbers of the records.
    ///   - batch: The id of their batch; `nil` for an update on the live lane.
    ///   - place: The index of the stream.
    ///   - now: The time on the monotonic clock.
    mutating func taken(_ seqs: SeqSet, by batch: String? = nil, at place: Int, now: MonotonicTime) -> [Action] {
        let there = seqs.intersection(self.streams[place].stored)
        guard !there.isEmpty else { return [] }
        guard self.configuration.needsRecorder else { return self.becameSafe(there, at: place) }
        let wait = self.acknowledgementWait(
            of: self.streams[place], afterProbes: self.streams[place].recorders.unansweredProbes)
        self.streams[place].taken(there, by: batch, now: now, wait: wait)
        let answer = self.configuration.expectsLaterRecorder ? [Action.taken(self.streams[place].id, there)] : []
        return answer + self.removeSafe(at: place)
    }

    /// Returns the time for which acknowledged records wait for the recorders. It grows with each unanswered probe,
    /// with jitter.
    mutating func acknowledgementWait(of stream: SpoolStream, afterProbes count: Int) -> Duration {
        let first = stream.recorders.isReopened ? Self.reopenedWait : self.configuration.acknowledgementWait
        guard count > 0 else { return first }
        let wait = min(first * (1 << min(count, 16)), Self.longestSilence)
        return wait * Double.random(in: 0.5...1, using: &self.random)
    }

    /// Removes the records that every recorder has stored.
    mutating func removeSafe(at place: Int) -> [Action] {
        guard self.configuration.needsRecorder else { return [] }
        let stream = self.streams[place].id
        let safe = self.streams[place].stored.through(self.safe(of: stream))
        return safe.isEmpty ? [] : self.becameSafe(safe, at: place)
    }

    /// Returns the number up to which every named recorder has stored a stream; with unnamed recorders, up to which any
    /// recorder has.
    func safe(of stream: StreamID) -> UInt64 {
        guard !self.configuration.recorders.isEmpty else {
            return self.recorders.acknowledged.values.lazy.compactMap { $0[stream] }.max() ?? 0
        }
        return self.configuration.recorders.map { self.recorders.acknowledged[$0]?[stream] ?? 0 }.min() ?? 0
    }

    private mutating func becameSafe(_ seqs: SeqSet, at place: Int) -> [Action] {
        self.streams[place].removed(seqs)
        self.done += seqs.count
        if self.queued == 0 { self.losses.outageEnded() }
        return [.remove(self.streams[place].id, seqs)]
    }

    mutating func batchRefused(_ refusal: TrackingError, now: MonotonicTime) -> [Action] {
        guard let attempt = self.attempt, !attempt.records.isEmpty else { return self.wait(now: now) }
        let mayBeContent = Self.mayBeContent(refusal)
        if refusal.code == .payloadTooLarge || (mayBeContent && self.connection.isTopicAllowed) {
            // A failing broker returns this code for every message, so an empty batch is sent first each time.
            if refusal.reasonCode == Self.implementationError { self.connection.isTopicAllowed = false }
            return self.refusedForGood(attempt, refusal, now: now) + self.progress(now: now)
        }
        // The broker rejects either the topic or the content of this batch. An empty batch distinguishes the two.
        self.rejection.isProbing = mayBeContent
        return self.wait(now: now)
    }

    /// MQTT 5, 2.4: "Implementation specific error".
    private static let implementationError: UInt8 = 0x83

    /// Returns `true` when the broker may have rejected the content of a record, by its rules or by inspecting
    /// payloads.
    private static func mayBeContent(_ refusal: TrackingError) -> Bool {
        refusal.code == .notAuthorized || refusal.isContentRefusal
    }

    /// Reports a rejection once, until a batch is accepted.
    mutating func refused(_ refusal: TrackingError) -> [Action] {
        defer { self.rejection.reason = refusal }
        // A batch that is too large is divided instead.
        return self.refusal == nil && refusal.code != .payloadTooLarge ? [.reportRejection(refusal)] : []
    }

    /// Divides a rejected batch into halves, down to the one record that is rejected. That record is quarantined.
    mutating func refusedForGood(_ attempt: Attempt, _ refusal: TrackingError, now: MonotonicTime) -> [Action] {
        self.attempt = nil
        guard attempt.records.count == 1, let seq = attempt.seqs.first else {
            self.limit.refused(to: max(1, attempt.records.count / 2))
            if let place = self.place(of: attempt.stream) { self.streams[place].hurry(through: attempt.seqs.last ?? 0) }
            return []
        }
        self.limit.acquitted()
        self.rejection.reason = nil
        return self.setAside(Refused(name: RecordName(stream: attempt.stream, seq: seq), reason: refusal))
    }

    private mutating func setAside(_ refused: Refused) -> [Action] {
        self.rejection.record = refused
        self.phase = .settingAside
        return [.quarantine(refused.name.stream, refused.name.seq, refused.reason)]
    }

    /// Waits before the same batch is sent again. The wait doubles up to the maximum, with jitter.
    mutating func wait(now: MonotonicTime) -> [Action] {
        let wait = self.backoff.next(atMost: self.configuration.longestWait, using: &self.random)
        self.phase = .waiting(until: now.advanced(by: wait))
        return []
    }

    // MARK: - Ends

    private mutating func forgetDone() -> [Action] {
        let done = self.streams.filter { stream in
            stream.isDone && self.attempt?.stream != stream.id
                && !(self.isReading && self.reading.ahead?.stream == stream.id)
        }
        guard !done.isEmpty else { return [] }
        let names = Set(done.map(\.id))
        self.streams.removeAll { names.contains($0.id) }
        for recorder in self.recorders.acknowledged.keys {
            for name in names { self.recorders.acknowledged[recorder]?[name] = nil }
        }
        return done.map { .forget($0.id) }
    }

    /// Reports dropped records once an outage: when the connection is established again, or at once on an established
    /// connection.
    private mutating func reportDropped() -> [Action] {
        guard self.isOpen, let count = self.losses.takeReport() else { return [] }
        return [.reportDropped(count)]
    }

    func place(of stream: StreamID) -> Int? { self.streams.firstIndex { $0.id == stream } }
}
