import TrackingCore

/// Records from outside, and the trackables that are carried for them.
extension PublisherStateMachine {
    /// How often it is looked whether the log of a trackable that nothing comes of any more is empty.
    static let drainPause = Duration.seconds(60)

    /// Somebody brought records of a trackable.
    mutating func take(_ batch: IntakeQueue.Batch, of id: TrackableID, by deadline: MonotonicTime, at moment: Moment)
        -> [Action]
    {
        guard self.stop == nil, self.configuration.isOn else {
            let error = TrackingError(.stopped, "the publisher takes nothing any more")
            return [.answered(request: batch.request, .failure(error))]
        }
        let actions = self.carry(id, until: moment.now.advanced(by: self.configuration.intakeLease), at: moment)
        // A name that the broker can not take it will never take.
        if let failure = self.assets[id]?.failure, failure.code != .takenOver {
            return actions + [.answered(request: batch.request, .failure(failure))]
        }
        self.intakes[id, default: IntakeQueue()].arrived(batch)
        self.timers.set(.intake(id, batch.request), deadline: deadline)
        return actions + self.lookUp(id)
    }

    /// Carries everything of which the log holds something, until that is safe. A recorder that may be started later gets the time
    /// to answer.
    mutating func drain(at moment: Moment) -> [Action] {
        let waiting = self.logs.filter { log in
            log.value.streams.contains { !$0.stored.isEmpty || $0.id != log.value.current }
        }
        let pause = self.configuration.recording.expectsLaterRecorder ? Self.drainPause : .zero
        return waiting.keys.flatMap { self.carry($0, until: moment.now.advanced(by: pause), at: moment) }
    }

    /// Tracks every trackable that was left with records in the log, at most once in ``drainPause``: a recorder answers.
    mutating func drainForRecorder(at moment: Moment) -> [Action] {
        guard self.configuration.recording.expectsLaterRecorder, !self.logs.isEmpty,
            self.lastDrain.map({ $0.advanced(by: Self.drainPause) <= moment.now }) ?? true
        else { return [] }
        self.lastDrain = moment.now
        return self.drain(at: moment)
    }

    /// A trackable that records come of is carried, for so long at least.
    private mutating func carry(_ id: TrackableID, until end: MonotonicTime, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        // Whoever had taken it over has left: it is added anew.
        if self.assets[id]?.failure?.code == .takenOver, self.presence.standingPublishers(on: id).isEmpty,
            self.intakes[id]?.isIdle ?? true
        {
            actions += self.remove(id, at: moment)
        }
        if self.assets[id] == nil {
            var trackable = Trackable(id)
            // To repeat a position would say that somebody was there to tell it.
            trackable.isRepeated = false
            actions += self.add(trackable, at: moment)
        }
        if self.assets[id]?.fed == nil {
            self.assets[id]?.fed = ToldTimes(self.kept[Self.toldKey(id)] ?? [])
            actions += self.listenForClearings(of: [id])
        }
        self.timers.set(.lease(id), deadline: end)
        return actions
    }

    /// Where positions of others are passed on, it is listened to whether they are cleared, as `godwit erase` does. Where the
    /// broker's rules do not let it, nobody tells.
    mutating func listenForClearings(of ids: [TrackableID]) -> [Action] {
        let fed = ids.filter { self.assets[$0]?.fed != nil }
        guard self.session.isConnected, !fed.isEmpty else { return [] }
        return [self.subscribe(fed.map { .topic(.location($0)) }, .other)]
    }

    /// Somebody cleared the position that stood: it is not told again.
    mutating func positionCleared(of id: TrackableID) {
        guard self.assets[id]?.fed != nil, let told = self.assets[id]?.lane.last?.location else { return }
        self.assets[id]?.forgetPosition(through: told)
    }

    /// Nothing came for a while: leave is taken, once all that came is safe.
    mutating func leaseEnded(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id] else { return [] }
        let isFinished = asset.isWritten && asset.spool.isFinished && !asset.spool.owesDeclaration
        if isFinished, self.intakes[id]?.isIdle ?? true { return self.remove(id, at: moment) }
        self.timers.set(.lease(id), deadline: moment.now.advanced(by: Self.drainPause))
        return []
    }

    // MARK: - Rounds

    private mutating func lookUp(_ id: TrackableID) -> [Action] {
        (self.intakes[id]?.begin()).map { [.log(id, .find($0))] } ?? []
    }

    /// These are known; the others become records. What of them is news is told once it is written; how new that is goes into
    /// the log with them.
    mutating func found(_ known: [RecordMark: RecordName], of id: TrackableID, at moment: Moment) -> [Action] {
        guard let drafts = self.intakes[id]?.found(known) else { return [] }
        var told = self.assets[id]?.fed ?? ToldTimes()
        var names: [RecordMark: RecordName] = [:]
        var news: [IntakeQueue.News] = []
        var actions: [Action] = []
        for draft in drafts {
            guard let stream = self.assets[id]?.stream, let seq = self.assets[id]?.nextSeq() else { break }
            let name = RecordName(stream: stream, seq: seq)
            let content = draft.content.named(name)
            names[draft.mark] = name
            if told.isNews(content, at: draft.time, now: moment.wall) {
                news.append(IntakeQueue.News(seq: seq, time: draft.time, content: content))
            }
            actions.append(.log(id, .append(stream, content.record(at: draft.time, seq: seq), mark: draft.mark)))
        }
        actions += self.keep(told, of: id)
        self.intakes[id]?.named(names, news: news)
        return actions + self.settleIntake(of: id)
    }

    private mutating func keep(_ told: ToldTimes, of id: TrackableID) -> [Action] {
        let key = Self.toldKey(id)
        guard self.kept[key] != told.encoded else { return [] }
        self.kept[key] = told.encoded
        return [.log(id, .keep(key, told.encoded))]
    }

    /// Something newer than all that was told before goes to its topic, as that of a device does.
    private mutating func tellNews(
        _ content: RecordDraft.Content, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        switch content {
        case .point(let location):
            self.assets[id]?.lastFix = location
            self.assets[id]?.places.moved(to: location)
            self.assets[id]?.places.recorded(location)
            guard self.configuration.sendsLive, self.assets[id]?.failure == nil else { return [] }
            _ = self.assets[id]?.lane.captured(location, now: moment.now, wallClock: moment.wall)
            return []
        case .event(let event):
            self.keepUnsent(event, of: id)
            return [.told(id, event)]
        case .trip(let trip):
            self.assets[id]?.unshownTrip = trip
            self.assets[id]?.lastTrip = trip
            return [.tripChanged(id, trip)]
        }
    }

    /// These are in the log: they are told as far as they are news, they go at once, and what came meanwhile is looked up.
    mutating func intakeWritten(_ seqs: SeqSet, of id: TrackableID, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for news in self.intakes[id]?.written(seqs) ?? []
        where self.assets[id]?.fed?.isNews(news.content, at: news.time, now: moment.wall) == true {
            actions += self.tellNews(news.content, of: id, at: moment)
        }
        // Of what is sent at once the newest goes first.
        actions += self.sendNext(of: id, at: moment)
        guard let stream = self.assets[id]?.stream else { return actions }
        actions += self.askSpool(of: id, at: moment) {
            $0.appended(seqs, of: stream, now: moment.now)
                + $0.hurried(through: seqs.last ?? 0, of: stream, now: moment.now)
        }
        return actions + self.settleIntake(of: id)
    }

    private mutating func settleIntake(of id: TrackableID) -> [Action] {
        guard let spool = self.assets[id]?.spool, let receipts = self.intakes[id]?.settle(isStored: spool.isAwaited)
        else { return [] }
        return self.answer(receipts, of: id) + self.lookUp(id)
    }

    private mutating func answer(_ receipts: [IntakeQueue.Receipt], of id: TrackableID) -> [Action] {
        receipts.map { receipt in
            self.timers.remove(.intake(id, receipt.request))
            return .answered(request: receipt.request, .success(.taken(receipt.names)))
        }
    }

    /// These need not be waited for any more.
    mutating func intakeSafe(_ seqs: SeqSet, of stream: StreamID, _ id: TrackableID) -> [Action] {
        guard let receipts = self.intakes[id]?.areSafe(seqs, of: stream), !receipts.isEmpty else { return [] }
        return self.answer(receipts, of: id)
    }

    // MARK: - What does not become safe

    /// What is under way could not be looked up or written.
    mutating func intakeFailed(_ error: TrackingError, of id: TrackableID) -> [Action] {
        let requests = self.intakes[id]?.failed() ?? []
        // What was to be kept with the records is not in the log either.
        if let told = self.assets[id]?.fed { self.kept[Self.toldKey(id)] = told.encoded }
        return self.refuse(requests, error, of: id) + self.lookUp(id)
    }

    /// The trackable is not carried any more.
    mutating func endIntake(of id: TrackableID) -> [Action] {
        let requests = self.intakes.removeValue(forKey: id)?.requests ?? []
        self.timers.remove(.lease(id))
        return self.refuse(requests, TrackingError(.stopped, "'\(id)' is not carried any more"), of: id)
    }

    private mutating func refuse(_ requests: [UInt64], _ error: TrackingError, of id: TrackableID) -> [Action] {
        requests.map { request in
            self.timers.remove(.intake(id, request))
            return .answered(request: request, .failure(error))
        }
    }

    /// Somebody has waited long enough.
    mutating func intakeExpired(_ request: UInt64, of id: TrackableID) -> [Action] {
        guard let wait = self.intakes[id]?.gaveUp(request) else { return [] }
        return [.answered(request: request, .failure(self.reason(of: wait, id)))]
    }

    private func reason(of wait: IntakeQueue.Wait, _ id: TrackableID) -> TrackingError {
        guard case .safe(let left) = wait else {
            return TrackingError(.spoolFailed, "the records were not written to the log in time; send them again")
        }
        let count = left.values.reduce(0) { $0 + $1.count }
        guard self.session.isAnnounced else {
            return TrackingError(
                .brokerUnreachable, "not connected to the broker; \(count) records go out when it is there again")
        }
        let asset = self.assets[id]
        if let error = asset?.failure ?? asset?.refusal?.error ?? asset?.spool.refusal {
            return TrackingError(
                error.code, "not taken: \(error.message); \(count) records are tried on", reasonCode: error.reasonCode)
        }
        let missing = asset?.spool.recordersWithout(left).sorted().map { "'\($0)'" } ?? []
        guard missing.isEmpty else {
            return TrackingError(
                .notAcknowledged,
                "\(count) records wait for \(missing.joined(separator: ", ")) to acknowledge them; is it running?")
        }
        guard self.configuration.recording.unnamedRecorder == .running, asset?.spool.unsent == 0 else {
            return TrackingError(.refused, "the broker has not taken \(count) records yet; they are tried on")
        }
        return TrackingError(
            .notAcknowledged, "\(count) records wait for a recorder to acknowledge them; is the history usable?")
    }

    /// Where the log keeps how new what was told of a trackable is.
    static func toldKey(_ id: TrackableID) -> String { "told/\(id.topicLevel)" }
}
