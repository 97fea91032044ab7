/// What happens to the log and around it.
extension SpoolStateMachine {
    // MARK: - The log

    /// These records are on disk now.
    public mutating func appended(_ seqs: SeqSet, now: MonotonicTime) -> [Action] {
        self.streams[self.streams.count - 1].appended(seqs, now: now)
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
        return self.progress(now: now)
    }

    /// The user let these go: they are declared gone. What is on its way with them is not tried again, and its answer
    /// changes nothing.
    public mutating func cleared(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard !seqs.isEmpty, let place = self.place(of: stream) else { return [] }
        self.streams[place].removed(seqs)
        self.streams[place].needsDeclaration = true
        if let attempt = self.attempt, attempt.stream == stream,
            attempt.seqs.intersection(self.streams[place].stored).isEmpty
        {
            self.attempt = nil
            if case .waiting = self.phase { self.phase = .idle }
        }
        return self.progress(now: now)
    }

    /// Records that were set aside are records of the log again, and go at once.
    public mutating func returned(_ seqs: SeqSet, of stream: StreamID, now: MonotonicTime) -> [Action] {
        guard let last = seqs.last else { return [] }
        if self.place(of: stream) == nil {
            let held = StoredStream(id: stream, stored: SeqSet(), last: last)
            self.streams.insert(SpoolStream(held, isEnded: true, now: now), at: 0)
        }
        guard let place = self.place(of: stream) else { return [] }
        self.streams[place].appended(seqs, now: now)
        self.streams[place].hurry(through: last)
        return self.progress(now: now)
    }

    /// What ``Action/read(_:_:maximumBytes:)`` found; `missing` were damaged or are not there.
    public mutating func loaded(
        _ records: SpoolRecords, missing: SeqSet, now: MonotonicTime
    ) -> [Action] {
        guard self.isReading, let stream = self.ahead?.stream, let place = self.place(of: stream) else { return [] }
        self.ahead?.loaded(records)
        self.streams[place].removed(missing)
        // Where nothing is in flight they are what goes now, even if some of what was asked for is missing; unless somebody
        // has to say so first, and nobody has since.
        if self.phase == .idle, self.attempt == nil, self.mayGo(from: records.first?.seq, of: self.streams[place]) {
            self.takeLoaded(of: stream)
        }
        return self.progress(now: now)
    }

    /// What was to be read can not be read now.
    public mutating func readFailed(now: MonotonicTime) -> [Action] {
        guard self.isReading else { return [] }
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

    /// Records may be sent from now on.
    public mutating func opened(now: MonotonicTime) -> [Action] {
        self.isOpen = true
        self.isTopicAllowed = false
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
    public mutating func acknowledged(
        by recorder: ClientID, _ acknowledgement: Acknowledgement, now: MonotonicTime
    ) -> [Action] {
        guard self.configuration.recorders.contains(recorder) else { return [] }
        var actions: [Action] = []
        for (stream, seq) in acknowledgement.streams {
            guard let place = self.place(of: stream), seq <= self.streams[place].last else { continue }
            let before = self.acknowledged[recorder]?[stream] ?? 0
            self.acknowledged[recorder, default: [:]][stream] = seq
            if seq < before {
                // Believed: what is still there goes again, and what is not is declared gone.
                self.streams[place].sendAgain(above: seq, now: now)
                self.streams[place].needsDeclaration = true
            }
            actions += self.removeSafe(at: place)
        }
        return actions + self.progress(now: now)
    }

    // MARK: - Time and the user

    /// The deadline came.
    public mutating func timerFired(now: MonotonicTime) -> [Action] {
        for index in self.streams.indices { self.streams[index].resend(now: now) }
        if case .waiting(let until) = self.phase, until <= now { self.phase = .idle }
        return self.progress(now: now)
    }

    /// Send a batch now, whatever waits; joins the one in flight.
    public mutating func sendNow(now: MonotonicTime) -> [Action] {
        switch self.phase {
        case .inFlight:
            return []  // that one is it
        case .waiting:
            self.phase = .idle
        case .idle:
            self.isOneBatchUrgent = self.attempt == nil && self.unsent > 0
        }
        return self.progress(now: now)
    }

    /// Send everything that waits.
    public mutating func flush(now: MonotonicTime) -> [Action] {
        for index in self.streams.indices { self.streams[index].hurry(through: self.streams[index].last) }
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
