/// The methods by which the caller of the spool state machine (``SpoolStateMachine``) reports events: of the device's
/// log, of the connection to the broker, and of the user.
extension SpoolStateMachine {
    // MARK: - The log

    /// Handles that records were written to the log. They then have to be sent to the recorders. If numbers of their
    /// stream were used twice, because the log was restored from an old copy, the records get new numbers first.
    public mutating func appended(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        if self.place(of: stream) == nil {
            self.streams.insert(SpoolStream(StoredStream(id: stream), isEnded: true, now: now), at: 0)
        }
        guard let place = self.place(of: stream) else { return [] }
        if self.streams[place].isReused { return [.renumber(stream, seqs)] }
        self.streams[place].appended(seqs, now: now)
        return self.progress(now: now)
    }

    /// Handles that records could not be written to the log. Their numbers are used up; the recorders will be informed
    /// that these records are lost.
    public mutating func appendFailed(_ seqs: SeqSet) {
        self.streams[self.streams.count - 1].givenUp(seqs)
    }

    /// Handles that the log removed records because it exceeded its limits. The recorders will be informed that these
    /// records are lost.
    public mutating func dropped(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard let place = self.place(of: stream) else { return [] }
        let before = self.streams[place].stored.count
        self.streams[place].removed(seqs)
        let count = before - self.streams[place].stored.count
        self.losses.drop(count)
        return self.progress(now: now)
    }

    /// Handles that the user deleted records. The recorders will be informed that these records are gone. If an
    /// unanswered batch consists only of such records, it is not sent again and its answer is ignored.
    public mutating func cleared(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard !seqs.isEmpty, let place = self.place(of: stream) else { return [] }
        self.streams[place].removed(seqs)
        self.streams[place].needsDeclaration = true
        self.giveUpBatch(ofStreamAt: place)
        return self.progress(now: now)
    }

    /// Discards the batch that is in flight or waits to be sent again, if it is a batch of this stream and none of its
    /// records is in the log any more. A later answer of the broker to it is ignored.
    private mutating func giveUpBatch(ofStreamAt place: Int) {
        guard let attempt = self.attempt, attempt.stream == self.streams[place].id,
            attempt.seqs.intersection(self.streams[place].stored).isEmpty
        else { return }
        self.attempt = nil
        if case .waiting = self.phase { self.phase = .idle }
    }

    /// Handles that a record was quarantined: set aside in the log, because it can never be accepted. The record no
    /// longer belongs to its stream. The recorders will be informed that its number is gone.
    public mutating func setAside(_ seq: UInt64, of stream: StreamID, now: MonotonicTime) -> [Action] {
        self.rejection.quarantined += 1
        if let place = self.place(of: stream) {
            self.streams[place].removed(SeqSet([seq...seq]))
            // The next batch of a stream that continues declares it.
            if self.streams[place].isEnded { self.streams[place].needsDeclaration = true }
        }
        if self.rejection.record?.name == RecordName(stream: stream, seq: seq) { self.endSettingAside() }
        return self.progress(now: now)
    }

    /// Handles that a record could not be quarantined (set aside in the log). If the record is still in its stream, the
    /// quarantine is tried again after a wait. Otherwise sending continues.
    public mutating func setAsideFailed(_ seq: UInt64, of stream: StreamID, now: MonotonicTime) -> [Action] {
        let name = RecordName(stream: stream, seq: seq)
        guard self.rejection.record?.name == name, self.phase == .settingAside else { return [] }
        if self.holds(name) { return self.wait(now: now) }
        self.endSettingAside()
        return self.progress(now: now)
    }

    private mutating func endSettingAside() {
        self.rejection.record = nil
        if self.phase == .settingAside { self.phase = .idle }
    }

    /// Handles the records that a ``RecordQuery``, a request to read the log, returned. The result of an outdated
    /// request is ignored.
    ///
    /// - Parameters:
    ///   - records: The records that were read.
    ///   - missing: The numbers of the records that are damaged or absent.
    ///   - query: The number of the request.
    ///   - now: The time on the monotonic clock.
    public mutating func loaded(
        _ records: SpoolRecords, missing: SeqSet, by query: UInt64, now: MonotonicTime
    ) -> [Action] {
        guard self.reading.ahead?.question == query, let stream = self.reading.ahead?.stream,
            let place = self.place(of: stream)
        else {
            return []
        }
        self.reading.ahead?.loaded(records)
        self.streams[place].removed(missing)
        // Without a batch in flight, the records form the next batch, even when some requested ones are missing. If
        // sending needs a request that is no longer pending, they wait.
        if self.phase == .idle, self.attempt == nil, self.mayGo(from: records.first?.seq, of: self.streams[place]) {
            self.takeLoaded(of: stream)
        }
        return self.progress(now: now)
    }

    /// Handles that the ``RecordQuery`` with this number, a request to read the log, failed. The records are read again
    /// later.
    public mutating func readFailed(_ query: UInt64, now: MonotonicTime) -> [Action] {
        guard self.reading.ahead?.question == query else { return [] }
        self.reading.ahead = nil
        // A batch in flight is answered regardless; the records after it are queried again.
        return self.phase == .idle ? self.wait(now: now) : []
    }

    // MARK: - The live lane

    /// Handles that these records of the current stream were published as the trackable's newest position, outside a
    /// batch. The broker has not answered yet.
    public mutating func sentLive(_ seqs: SeqSet) { self.streams[self.streams.count - 1].sentLive(seqs) }

    /// Handles that the broker acknowledged these records, which were published as the newest position, outside a
    /// batch.
    public mutating func takenLive(_ seqs: SeqSet, now: MonotonicTime) -> [Action] {
        let place = self.streams.count - 1
        self.streams[place].liveEnded(seqs)
        return self.taken(seqs, at: place, now: now) + self.progress(now: now)
    }

    /// Handles that publishing these records as the newest position failed: the broker rejected the message, or the
    /// connection was lost. They will be sent again in a batch.
    public mutating func failedLive(_ seqs: SeqSet, now: MonotonicTime) -> [Action] {
        self.streams[self.streams.count - 1].liveEnded(seqs)
        return self.progress(now: now)
    }

    // MARK: - The connection

    /// Handles that the publisher may publish messages from now on. Recorders may therefore acknowledge records that
    /// were appended since the log was opened.
    public mutating func publishingAllowed() { self.connection.mayHavePublished = true }

    /// Handles that batches may be sent from now on, because the publisher is connected and has announced its presence.
    public mutating func opened(now: MonotonicTime) -> [Action] {
        self.connection.isOpen = true
        self.connection.mayHavePublished = true
        self.connection.isTopicAllowed = false
        if self.connection.wasOpened, self.configuration.needsRecorder {
            for place in self.streams.indices { self.streams[place].reopened(now: now, wait: Self.reopenedWait) }
        }
        self.connection.wasOpened = true
        // A new connection is a new chance, so the backoff starts again.
        self.backoff.reset()
        if case .waiting = self.phase { self.phase = .idle }
        return self.progress(now: now)
    }

    /// Handles that batches may no longer be sent, because the connection ended. The unanswered batch must be sent
    /// again. After several such ends in a row with the same batch, the batch counts as rejected by the broker.
    ///
    /// - Parameters:
    ///   - isOrderly: `true` when the publisher closed the connection on request. The unanswered batch is then not
    ///     suspected as the cause.
    ///   - now: The time on the monotonic clock.
    public mutating func closed(isOrderly: Bool = false, now: MonotonicTime) -> [Action] {
        guard self.isOpen else { return [] }
        self.connection.isOpen = false
        self.losses.outageBegan()
        self.reading.ahead?.forget()
        guard case .inFlight(let isProbe) = self.phase else { return [] }
        self.phase = .idle
        guard !isProbe, !isOrderly else { return [] }
        self.attempt?.disconnections += 1
        guard let attempt = self.attempt, attempt.disconnections >= Self.maximumDisconnections else { return [] }
        let error = TrackingError(
            .refused,
            """
            cannot send this record: the broker closed the connection \(Self.maximumDisconnections) times in a row \
            when it was sent. The record is quarantined
            """)
        return self.refusedForGood(attempt, error, now: now)
    }

    /// Handles the broker's answer to the batch in flight, which may be an empty test batch. `refusal` is `nil` when
    /// the broker acknowledged the batch, and otherwise the reason of the rejection.
    public mutating func answered(_ refusal: TrackingError?, now: MonotonicTime) -> [Action] {
        guard case .inFlight(let isProbe) = self.phase else { return [] }
        self.phase = .idle
        switch (refusal, isProbe) {
        case (nil, true):
            self.connection.isTopicAllowed = true
            self.rejection.isProbing = false
        case (nil, false):
            return self.batchTaken(now: now) + self.progress(now: now)
        case (let refusal?, true):
            return self.refused(refusal) + self.wait(now: now)
        case (let refusal?, false):
            return self.refused(refusal) + self.batchRefused(refusal, now: now)
        }
        return self.progress(now: now)
    }

    /// Handles a recorder's acknowledgement of durably stored records. Records that all required recorders have stored
    /// are removed from the log.
    ///
    /// - Parameters:
    ///   - recorder: The client id of the recorder.
    ///   - acknowledgement: The acknowledged number of each stream: all records up to it are stored durably.
    ///   - given: The highest number assigned in the current stream, even if its record is not written to the log yet.
    ///   - isRetained: `true` for the broker's retained copy. It may be old and does not prove that the recorder is
    ///     running.
    ///   - now: The time on the monotonic clock.
    public mutating func acknowledged(
        by recorder: ClientID, _ acknowledgement: Acknowledgement, given: UInt64 = 0, isRetained: Bool = false,
        now: MonotonicTime
    ) -> [Action] {
        guard self.counts(recorder) else { return [] }
        var actions: [Action] = []
        for (stream, seq) in acknowledgement.streams {
            guard let place = self.place(of: stream) else { continue }
            if self.provesReuse(seq, given: given, ofStreamAt: place) { actions += self.beginAnew(now: now) }
            // Records of an ended stream that were lost in a power failure may have been sent before.
            guard seq <= self.streams[place].last || self.streams[place].isEnded else { continue }
            let (before, safe) = (self.recorders.acknowledged[recorder]?[stream] ?? 0, self.safe(of: stream))
            self.recorders.acknowledged[recorder, default: [:]][stream] = seq
            if self.safe(of: stream) > safe { self.recorderAnswered(isWorking: true, at: place, now: now) }
            if seq < before {
                // The acknowledgement is trusted: records that are still on disk are sent again, and the others are
                // declared gone.
                self.streams[place].sendAgain(above: seq, now: now)
                self.streams[place].needsDeclaration = true
            }
            actions += self.removeSafe(at: place)
        }
        if !isRetained { self.recorderAnswered(recorder, now: now) }
        return actions + self.progress(now: now)
    }

    /// Returns `true` when the state machine uses the acknowledgements of this recorder. If the configuration names
    /// recorders, it uses only theirs. Otherwise it uses those of any recorder, up to ``maximumUnnamedRecorders``
    /// recorders. It uses none if the configuration requires no recorder's acknowledgement.
    private func counts(_ recorder: ClientID) -> Bool {
        guard self.configuration.recorders.isEmpty else { return self.configuration.recorders.contains(recorder) }
        guard self.configuration.unnamedRecorder != .none else { return false }
        return self.recorders.acknowledged[recorder] != nil || self.recorders.answering.contains(recorder)
            || max(self.recorders.acknowledged.count, self.recorders.answering.count) < Self.maximumUnnamedRecorders
    }

    /// Handles that a recorder proved to be running. The records that the recorder has not acknowledged may have been
    /// lost on the way. They are sent again if the recorder does not acknowledge them within a wait that begins now.
    private mutating func recorderAnswered(_ recorder: ClientID, now: MonotonicTime) {
        let isNew = self.recorders.answering.insert(recorder).inserted
        let isUnnamed = self.configuration.recorders.isEmpty
        for place in self.streams.indices {
            let stream = self.streams[place].id
            // Another recorder may be the one that does not answer.
            guard isUnnamed || self.recorders.acknowledged[recorder]?[stream] ?? 0 == self.safe(of: stream) else {
                continue
            }
            let wait = isNew && isUnnamed ? Self.reopenedWait : self.configuration.acknowledgementWait
            self.streams[place].recorderAnswered(isWorking: false, now: now, wait: wait)
        }
    }

    private mutating func recorderAnswered(isWorking: Bool, at place: Int, now: MonotonicTime) {
        self.streams[place].recorderAnswered(
            isWorking: isWorking, now: now, wait: self.configuration.acknowledgementWait)
    }

    /// Returns `true` when a recorder has acknowledged a number that this log never sent.
    ///
    /// This proves that the log was restored from an old copy, such as a snapshot of the disk. The log then assigns its
    /// newest numbers a second time, to different records. Only a stream that existed when the log was opened can prove
    /// this.
    private func provesReuse(_ seq: UInt64, given: UInt64, ofStreamAt place: Int) -> Bool {
        let stream = self.streams[place]
        guard !stream.isEnded, stream.lastTakenOver > 0 else { return false }
        return seq > (self.connection.mayHavePublished ? max(given, stream.last) : stream.lastTakenOver)
    }

    private mutating func beginAnew(now: MonotonicTime) -> [Action] {
        let place = self.streams.count - 1
        let old = self.streams[place].id
        let reused = self.streams[place].endReused()
        self.giveUpBatch(ofStreamAt: place)
        let stream = StreamID.random(using: &self.random)
        self.streams.append(SpoolStream(StoredStream(id: stream), isEnded: false, now: now))
        return [.begin(stream, after: old)] + (reused.isEmpty ? [] : [.renumber(old, reused)])
    }

    // MARK: - Time and the user

    /// Handles that the time ``nextDeadline`` has come: a batch need not wait for more records, or a wait before
    /// sending again is over.
    public mutating func timerFired(now: MonotonicTime) -> [Action] {
        if self.isOpen { self.sendUnacknowledgedAgain(now: now) }
        if case .waiting(let until) = self.phase, until <= now { self.phase = .idle }
        return self.progress(now: now)
    }

    private mutating func sendUnacknowledgedAgain(now: MonotonicTime) {
        for place in self.streams.indices {
            self.streams[place].resend(now: now)
            guard let deadline = self.streams[place].resendDeadline, deadline <= now else { continue }
            self.probe(streamAt: place, now: now)
        }
    }

    private mutating func probe(streamAt place: Int, now: MonotonicTime) {
        let stream = self.streams[place]
        let wait = self.acknowledgementWait(of: stream, afterProbes: stream.answers.unansweredProbes + 1)
        // Pending records do not wait for a recorder that may be started much later.
        let stalls = !self.configuration.expectsLaterRecorder
        self.streams[place].probe(self.limit.current, stalls: stalls, now: now, wait: wait)
    }

    /// Requests that one batch of unsent records is published now, even if the batch is not full, and ends a wait
    /// before sending again. If an earlier batch is still unanswered by the broker, no further batch is published. If
    /// no record may be sent because the recorders do not answer, the oldest batch that they have not acknowledged is
    /// sent again.
    public mutating func sendNow(now: MonotonicTime) -> [Action] {
        switch self.phase {
        case .inFlight:
            return []  // that one is it
        case .waiting:
            self.phase = .idle
        case .idle, .settingAside:
            // Behind a silent recorder, the oldest unacknowledged batch is sent.
            let stalled = self.streams.firstIndex { $0.stalledThrough != nil }
            if let stalled, !self.streams[stalled].hasReady { self.probe(streamAt: stalled, now: now) }
            self.isOneBatchUrgent = self.attempt == nil && self.unsent > 0
        }
        return self.progress(now: now)
    }

    /// Sends all unsent records now, without waiting for full batches. Records that the recorders have not acknowledged
    /// while they were silent are sent again first.
    public mutating func flush(now: MonotonicTime) -> [Action] {
        for index in self.streams.indices {
            self.streams[index].endStall(now: now)
            self.streams[index].hurry(through: self.streams[index].last)
        }
        return self.progress(now: now)
    }

    /// Sends the unsent records of one stream up to number `seq` now, without waiting for a full batch.
    public mutating func hurried(through seq: UInt64, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard let place = self.place(of: stream) else { return [] }
        self.streams[place].hurry(through: seq)
        return self.progress(now: now)
    }

    /// Stops automatic sending. Records remain in the log until ``released(through:now:)`` resumes it. If the user
    /// requests to send records, they are sent nevertheless.
    public mutating func held() { self.isHeld = true }

    /// Resumes automatic sending, which ``held()`` stopped. Records of the current stream up to number `seq`, and all
    /// records of earlier streams, are sent without waiting for full batches. If the configuration permits sending only
    /// on request, nothing is sent now.
    public mutating func released(through seq: UInt64, now: MonotonicTime) -> [Action] {
        self.isHeld = false
        guard self.configuration.batchWindow != nil else { return [] }
        let current = self.streams.count - 1
        for index in self.streams.indices {
            self.streams[index].hurry(through: index == current ? seq : self.streams[index].last)
        }
        return self.progress(now: now)
    }

    /// Replaces the settings for sending batches. Ends the wait before sending again, if one is running. Removes the
    /// records from the log that are safe under the new settings: the broker or the recorders that the new settings
    /// require have acknowledged them.
    public mutating func configure(_ configuration: Configuration, now: MonotonicTime) -> [Action] {
        self.configuration = configuration
        self.limit = SendLimit(maximum: configuration.batchSize)
        self.backoff.reset()
        if case .waiting = self.phase { self.phase = .idle }
        return self.streams.indices.flatMap { self.removeSafe(at: $0) } + self.progress(now: now)
    }
}
