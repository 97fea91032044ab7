/// What happens to the log and around it.
extension SpoolStateMachine {
    // MARK: - The log

    /// These records are on disk now. A stream that ended while they were written has them all the same, and one that was forgotten
    /// comes back with them.
    public mutating func appended(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        if self.place(of: stream) == nil {
            self.streams.insert(SpoolStream(StoredStream(id: stream), isEnded: true, now: now), at: 0)
        }
        guard let place = self.place(of: stream) else { return [] }
        if self.streams[place].isReused { return [.renumber(stream, seqs)] }
        self.streams[place].appended(seqs, now: now)
        return self.progress(now: now)
    }

    /// These records could not be written; they are declared gone.
    public mutating func appendFailed(_ seqs: SeqSet) {
        self.streams[self.streams.count - 1].givenUp(seqs)
    }

    /// The log let these go unsent, to keep to its limits.
    public mutating func dropped(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard let place = self.place(of: stream) else { return [] }
        let before = self.streams[place].stored.count
        self.streams[place].removed(seqs)
        let count = before - self.streams[place].stored.count
        self.dropped += count
        self.droppedUntold += count
        if count > 0, self.loss == .none { self.loss = .untold }
        return self.progress(now: now)
    }

    /// The user let these go: they are declared gone. What is on its way with them is not tried again, and its answer
    /// changes nothing.
    public mutating func cleared(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard !seqs.isEmpty, let place = self.place(of: stream) else { return [] }
        self.streams[place].removed(seqs)
        self.streams[place].needsDeclaration = true
        self.giveUpBatch(ofStreamAt: place)
        return self.progress(now: now)
    }

    /// What is on its way without a record that is still there is not tried again.
    private mutating func giveUpBatch(ofStreamAt place: Int) {
        guard let attempt = self.attempt, attempt.stream == self.streams[place].id,
            attempt.seqs.intersection(self.streams[place].stored).isEmpty
        else { return }
        self.attempt = nil
        if case .waiting = self.phase { self.phase = .idle }
    }

    /// The record is set aside, durably: it is no record of its stream any more, and is declared gone.
    public mutating func setAside(_ seq: UInt64, of stream: StreamID, now: MonotonicTime) -> [Action] {
        self.quarantined += 1
        if let place = self.place(of: stream) {
            self.streams[place].removed(SeqSet([seq...seq]))
            // Of a stream that goes on, the next batch tells it.
            if self.streams[place].isEnded { self.streams[place].needsDeclaration = true }
        }
        if self.refused?.name == RecordName(stream: stream, seq: seq) { self.endSettingAside() }
        return self.progress(now: now)
    }

    /// The record could not be set aside: it stays a record of its stream, and that is tried again, unless it became safe or was
    /// forgotten meanwhile.
    public mutating func setAsideFailed(_ seq: UInt64, of stream: StreamID, now: MonotonicTime) -> [Action] {
        let name = RecordName(stream: stream, seq: seq)
        guard self.refused?.name == name, self.phase == .settingAside else { return [] }
        if self.holds(name) { return self.wait(now: now) }
        self.endSettingAside()
        return self.progress(now: now)
    }

    private mutating func endSettingAside() {
        self.refused = nil
        if self.phase == .settingAside { self.phase = .idle }
    }

    /// What a query found; `missing` were damaged or are not there. The answer to a query that nobody waits for any more changes
    /// nothing.
    public mutating func loaded(
        _ records: SpoolRecords, missing: SeqSet, by query: UInt64, now: MonotonicTime
    ) -> [Action] {
        guard self.ahead?.question == query, let stream = self.ahead?.stream, let place = self.place(of: stream) else {
            return []
        }
        self.ahead?.loaded(records)
        self.streams[place].removed(missing)
        // Where nothing is in flight they are what goes now, even if some of what was asked for is missing; unless somebody
        // has to say so first, and nobody has since.
        if self.phase == .idle, self.attempt == nil, self.mayGo(from: records.first?.seq, of: self.streams[place]) {
            self.takeLoaded(of: stream)
        }
        return self.progress(now: now)
    }

    /// What a query was to find can not be read now.
    public mutating func readFailed(_ query: UInt64, now: MonotonicTime) -> [Action] {
        guard self.ahead?.question == query else { return [] }
        self.ahead = nil
        // A batch that is in flight is answered all the same; what comes after it is asked for again.
        return self.phase == .idle ? self.wait(now: now) : []
    }

    // MARK: - The live lane

    /// An update with these records of the current stream went out.
    public mutating func sentLive(_ seqs: SeqSet) { self.streams[self.streams.count - 1].sentLive(seqs) }

    /// The broker took them.
    public mutating func takenLive(_ seqs: SeqSet, now: MonotonicTime) -> [Action] {
        let place = self.streams.count - 1
        self.streams[place].liveEnded(seqs)
        return self.taken(seqs, at: place, now: now) + self.progress(now: now)
    }

    /// The broker did not take them: they wait for the recording lane.
    public mutating func failedLive(_ seqs: SeqSet, now: MonotonicTime) -> [Action] {
        self.streams[self.streams.count - 1].liveEnded(seqs)
        return self.progress(now: now)
    }

    // MARK: - The connection

    /// Something may be sent from now on, on whatever lane.
    public mutating func spoke() { self.maySpeak = true }

    /// Records may be sent from now on.
    public mutating func opened(now: MonotonicTime) -> [Action] {
        self.isOpen = true
        self.maySpeak = true
        self.isTopicAllowed = false
        if self.wasOpened, self.configuration.needsRecorder {
            for place in self.streams.indices { self.streams[place].reopened(now: now, wait: Self.reopenedWait) }
        }
        self.wasOpened = true
        // A new connection is a new chance: waits begin anew.
        self.lastWait = nil
        if case .waiting = self.phase { self.phase = .idle }
        return self.progress(now: now)
    }

    /// Records can not be sent any more: what was in flight is lost with the connection.
    ///
    /// - Parameter isOrderly: Whether that was asked for, and the batch in flight is not the cause.
    public mutating func closed(isOrderly: Bool = false, now: MonotonicTime) -> [Action] {
        guard self.isOpen else { return [] }
        self.isOpen = false
        if self.loss == .told { self.loss = .none }
        self.ahead?.forget()
        guard case .inFlight(let isProbe) = self.phase else { return [] }
        self.phase = .idle
        guard !isProbe, !isOrderly else { return [] }
        self.attempt?.disconnections += 1
        guard let attempt = self.attempt, attempt.disconnections >= Self.maximumDisconnections else { return [] }
        let error = TrackingError(
            .refused, "the broker ended the connection \(Self.maximumDisconnections) times on this record")
        return self.refusedForGood(attempt, error, now: now)
    }

    /// The broker answered the batch in flight: `nil` when it took it.
    public mutating func answered(_ refusal: TrackingError?, now: MonotonicTime) -> [Action] {
        guard case .inFlight(let isProbe) = self.phase else { return [] }
        self.phase = .idle
        switch (refusal, isProbe) {
        case (nil, true):
            self.isTopicAllowed = true
            self.isProbing = false
        case (nil, false):
            return self.batchTaken(now: now) + self.progress(now: now)
        case (let refusal?, true):
            return self.refused(refusal) + self.wait(now: now)
        case (let refusal?, false):
            return self.refused(refusal) + self.batchRefused(refusal, now: now)
        }
        return self.progress(now: now)
    }

    /// A recorder tells what is durably stored.
    ///
    /// - Parameters:
    ///   - given: The last number that was given out in the current stream: what bears it may have been told before it is
    ///     written.
    ///   - isRetained: Whether it said so some time ago: that does not show that it is there.
    public mutating func acknowledged(
        by recorder: ClientID, _ acknowledgement: Acknowledgement, given: UInt64 = 0, isRetained: Bool = false,
        now: MonotonicTime
    ) -> [Action] {
        guard self.counts(recorder) else { return [] }
        var actions: [Action] = []
        for (stream, seq) in acknowledgement.streams {
            guard let place = self.place(of: stream) else { continue }
            if self.tellsOfReuse(seq, given: given, ofStreamAt: place) { actions += self.beginAnew(now: now) }
            // What a power cut took of a stream that has ended may have been sent before.
            guard seq <= self.streams[place].last || self.streams[place].isEnded else { continue }
            let (before, safe) = (self.acknowledged[recorder]?[stream] ?? 0, self.safe(of: stream))
            self.acknowledged[recorder, default: [:]][stream] = seq
            if self.safe(of: stream) > safe { self.heard(isWorking: true, at: place, now: now) }
            if seq < before {
                // Believed: what is still there goes again, and what is not is declared gone.
                self.streams[place].sendAgain(above: seq, now: now)
                self.streams[place].needsDeclaration = true
            }
            actions += self.removeSafe(at: place)
        }
        if !isRetained { self.heard(recorder, now: now) }
        return actions + self.progress(now: now)
    }

    /// Returns whether the acknowledgements of a recorder count: those of the named ones, or where none is named, of any.
    private func counts(_ recorder: ClientID) -> Bool {
        guard self.configuration.recorders.isEmpty else { return self.configuration.recorders.contains(recorder) }
        guard self.configuration.unnamedRecorder != .none else { return false }
        return self.acknowledged[recorder] != nil || self.answeringRecorders.contains(recorder)
            || max(self.acknowledged.count, self.answeringRecorders.count) < Self.maximumUnnamedRecorders
    }

    /// A recorder is there: what it lacks may have been lost on its way to it. An unnamed one may have just been started.
    private mutating func heard(_ recorder: ClientID, now: MonotonicTime) {
        let isNew = self.answeringRecorders.insert(recorder).inserted
        let isUnnamed = self.configuration.recorders.isEmpty
        for place in self.streams.indices {
            let stream = self.streams[place].id
            // Another one may be the one that is missed.
            guard isUnnamed || self.acknowledged[recorder]?[stream] ?? 0 == self.safe(of: stream) else { continue }
            let wait = isNew && isUnnamed ? Self.reopenedWait : self.configuration.acknowledgementWait
            self.streams[place].heard(isWorking: false, now: now, wait: wait)
        }
    }

    private mutating func heard(isWorking: Bool, at place: Int, now: MonotonicTime) {
        self.streams[place].heard(isWorking: isWorking, now: now, wait: self.configuration.acknowledgementWait)
    }

    /// Whether a recorder has what the log never sent under that number: it was put back to an earlier state, as by a disk's
    /// snapshot, and its last numbers are given out for the second time. Of a stream that began since it was opened that is a lie.
    private func tellsOfReuse(_ seq: UInt64, given: UInt64, ofStreamAt place: Int) -> Bool {
        let stream = self.streams[place]
        guard !stream.isEnded, stream.lastTakenOver > 0 else { return false }
        return seq > (self.maySpeak ? max(given, stream.last) : stream.lastTakenOver)
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

    /// The deadline came.
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
        let wait = self.acknowledgementWait(of: stream, afterProbes: stream.unheardProbes + 1)
        // Nothing waits for a recorder that may be started much later.
        let stalls = !self.configuration.expectsLaterRecorder
        self.streams[place].probe(self.limit.current, stalls: stalls, now: now, wait: wait)
    }

    /// Send a batch now, whatever waits; joins the one in flight.
    public mutating func sendNow(now: MonotonicTime) -> [Action] {
        switch self.phase {
        case .inFlight:
            return []  // that one is it
        case .waiting:
            self.phase = .idle
        case .idle, .settingAside:
            // Behind a silent recorder the oldest unacknowledged batch is the one that goes.
            let stalled = self.streams.firstIndex { $0.stalledThrough != nil }
            if let stalled, !self.streams[stalled].hasReady { self.probe(streamAt: stalled, now: now) }
            self.isOneBatchUrgent = self.attempt == nil && self.unsent > 0
        }
        return self.progress(now: now)
    }

    /// Sends everything that waits, and before it what silent recorders have not acknowledged.
    public mutating func flush(now: MonotonicTime) -> [Action] {
        for index in self.streams.indices {
            self.streams[index].endStall(now: now)
            self.streams[index].hurry(through: self.streams[index].last)
        }
        return self.progress(now: now)
    }

    /// Send what waits in one stream, up to a number.
    public mutating func hurried(through seq: UInt64, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard let place = self.place(of: stream) else { return [] }
        self.streams[place].hurry(through: seq)
        return self.progress(now: now)
    }

    /// Sending is deferred: what waits, and what comes, stays where it is.
    public mutating func held() { self.isHeld = true }

    /// Sending is deferred no more: what there is up to `seq` of the current stream goes now, where anything goes by itself.
    public mutating func released(through seq: UInt64, now: MonotonicTime) -> [Action] {
        self.isHeld = false
        guard self.configuration.batchWindow != nil else { return [] }
        let current = self.streams.count - 1
        for index in self.streams.indices {
            self.streams[index].hurry(through: index == current ? seq : self.streams[index].last)
        }
        return self.progress(now: now)
    }

    /// The user chose otherwise: waits begin anew.
    public mutating func configure(_ configuration: Configuration, now: MonotonicTime) -> [Action] {
        self.configuration = configuration
        self.limit = SendLimit(maximum: configuration.batchSize)
        self.lastWait = nil
        if case .waiting = self.phase { self.phase = .idle }
        return self.streams.indices.flatMap { self.removeSafe(at: $0) } + self.progress(now: now)
    }
}
