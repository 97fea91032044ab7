/// The part of the spool state machine that selects the records of the next batch, and handles the broker's answers to
/// batches.
extension SpoolStateMachine {
    /// Returns the actions that the caller must perform now, such as reading records, publishing a batch, or reporting
    /// dropped records. Begins the next batch if none is in flight and no wait is running.
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

    /// Returns the stream and the record numbers of the next batch; `nil` when no record is to be sent now. The stream
    /// is the oldest one that has records to be sent now.
    private func nextBatch(now: MonotonicTime) -> (stream: StreamID, seqs: SeqSet)? {
        for stream in self.sendableStreams {
            let ready = stream.ready
            guard !ready.isEmpty, self.isDue(ready, of: stream, now: now) else { continue }
            return (stream.id, stream.next(self.limit.current).seqs)
        }
        return nil
    }

    /// The streams whose records may be sent now, oldest first. The list ends with the first stream about whose records
    /// the recorders do not answer.
    var sendableStreams: ArraySlice<SpoolStream> {
        let stalled = self.streams.firstIndex { $0.stalledThrough != nil }
        return self.streams[...(stalled ?? self.streams.endIndex - 1)]
    }

    /// Publishes a batch of these records if they were read from the log already. Otherwise requests to read them.
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

    /// Makes the next batch from the records that were read from the log already. Makes none if these are not the
    /// records that must be sent next.
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

    /// Requests to read the records of the next batches from the log, while an earlier batch is unanswered. Requests
    /// nothing unless the records fill at least one batch and that batch may follow at once.
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

    /// Returns `true` when the user's settings or requests permit to send the records of the stream now, from number
    /// `first` on. Either the user requested to send them, or sending is automatic.
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

    /// Makes a batch of these records. The batch also states which earlier numbers of the stream are gone, how many
    /// records are unsent, and if the stream has ended.
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

    /// Handles that the broker acknowledged records of a stream. If no recorder has to acknowledge them, they are safe
    /// and removed from the log. Otherwise they wait for the recorders' acknowledgement.
    ///
    /// - Parameters:
    ///   - seqs: The numbers of the records.
    ///   - batch: The id of their batch; `nil` for records that were published as the newest position, outside a batch.
    ///   - place: The index of the stream.
    ///   - now: The time on the monotonic clock.
    mutating func taken(_ seqs: SeqSet, by batch: String? = nil, at place: Int, now: MonotonicTime) -> [Action] {
        let there = seqs.intersection(self.streams[place].stored)
        guard !there.isEmpty else { return [] }
        guard self.configuration.needsRecorder else { return self.becameSafe(there, at: place) }
        let wait = self.acknowledgementWait(
            of: self.streams[place], afterProbes: self.streams[place].answers.unansweredProbes)
        self.streams[place].taken(there, by: batch, now: now, wait: wait)
        let answer = self.configuration.expectsLaterRecorder ? [Action.taken(self.streams[place].id, there)] : []
        return answer + self.removeSafe(at: place)
    }

    /// Returns the time for which records wait for a recorder's acknowledgement, after the broker acknowledged them.
    /// Then they are sent again. The time grows with `count`, the number of unanswered repetitions, and has a random
    /// part.
    mutating func acknowledgementWait(of stream: SpoolStream, afterProbes count: Int) -> Duration {
        let first = stream.answers.isReopened ? Self.reopenedWait : self.configuration.acknowledgementWait
        guard count > 0 else { return first }
        let wait = Backoff(first: first, maximum: Self.longestSilence).wait(after: count + 1)
        return wait * Double.random(in: 0.5...1, using: &self.random)
    }

    /// Removes those records of a stream from the log that the required recorders have acknowledged: all recorders that
    /// the configuration names, or any one if it names none.
    mutating func removeSafe(at place: Int) -> [Action] {
        guard self.configuration.needsRecorder else { return [] }
        let stream = self.streams[place].id
        let safe = self.streams[place].stored.through(self.safe(of: stream))
        return safe.isEmpty ? [] : self.becameSafe(safe, at: place)
    }

    /// Returns the number up to which the records of a stream count as safe. If the configuration names recorders, all
    /// of them must have stored the records; otherwise any one recorder.
    func safe(of stream: StreamID) -> UInt64 {
        guard !self.configuration.recorders.isEmpty else {
            return self.recorders.acknowledged.values.lazy.compactMap { $0[stream] }.max() ?? 0
        }
        return self.configuration.recorders.map { self.recorders.acknowledged[$0]?[stream] ?? 0 }.min() ?? 0
    }

    private mutating func becameSafe(_ seqs: SeqSet, at place: Int) -> [Action] {
        self.streams[place].removed(seqs)
        self.done += seqs.count
        if self.queued == 0 { self.losses.allSent() }
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

    /// The MQTT 5 reason code "Implementation specific error", 0x83 (section 2.4 of the specification).
    private static let implementationError: UInt8 = 0x83

    /// Returns `true` when the content of a record may be the cause for which the broker rejected a batch. This is so
    /// if the broker did not authorize the batch, or rejected its size or content.
    private static func mayBeContent(_ refusal: TrackingError) -> Bool {
        refusal.code == .notAuthorized || refusal.isContentRefusal
    }

    /// Stores the reason for which the broker rejected a batch. Returns the action that reports the rejection to the
    /// operator. Returns no action if the batch is too large, or if ``refusal`` still has the reason of an earlier
    /// rejection.
    mutating func refused(_ refusal: TrackingError) -> [Action] {
        defer { self.rejection.reason = refusal }
        // A batch that is too large is divided instead.
        return self.refusal == nil && refusal.code != .payloadTooLarge ? [.reportRejection(refusal)] : []
    }

    /// Handles a batch that must not be sent again unchanged, because the broker rejects it. The batch is divided into
    /// smaller ones until the one record that causes the rejection is found. That record is quarantined: set aside in
    /// the log.
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

    /// Begins the wait before sending is tried again after a failure. Each wait is twice the previous one, up to a
    /// maximum, and is shortened at random by at most half.
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

    /// Returns the action that publishes the number of dropped records as an event. This happens only while connected,
    /// once for each outage, a time without a connection, and once more when all records are sent.
    private mutating func reportDropped() -> [Action] {
        guard self.isOpen, let count = self.losses.takeReport() else { return [] }
        return [.reportDropped(count)]
    }

    func place(of stream: StreamID) -> Int? { self.streams.firstIndex { $0.id == stream } }
}
