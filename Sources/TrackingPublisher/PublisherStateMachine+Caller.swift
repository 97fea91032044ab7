import TrackingCore

/// The requests of the program that uses the publisher: trackables, records, a fix, settings, and answers to commands.
extension PublisherStateMachine {
    mutating func requested(_ event: Event, at moment: Moment) -> [Action] {
        switch event {
        case .add(let trackable): return self.add(trackable, at: moment)
        case .remove(let id): return self.remove(id, at: moment)
        case .change(let trackable): return self.change(trackable, at: moment)
        case .trip(let id, let mode, let request):
            guard self.table.isTracked(id) else {
                let error = TrackingError(
                    .invalidName, "cannot change the trip of '\(id)': the trackable is not tracked. Track it first.")
                return [.answered(request: request, .failure(error))]
            }
            return self.with(id, at: moment) { $0.trip(mode, request, $1) } + self.updateSensorResolution()
        case .sendRecords(let all): return self.sendRecords(all: all, at: moment)
        case .report(let request): return self.report(request, at: moment)
        case .snapshot(let request):
            return [.answered(request: request, .success(.snapshot(self.snapshot(at: moment))))]
        case .configure(let configuration): return self.configure(configuration, at: moment)
        case .answer(let answer, let command): return self.answer(answer, to: command, at: moment)
        case .asked(let request, let number): return self.asked(request, number, at: moment)
        case .ingest(let drafts, let id, let deadline, let request):
            return self.ingest(.init(request: request, drafts: drafts), of: id, by: deadline, at: moment)
        case .drain: return self.drain(at: moment)
        case .forget(let id, let watermark):
            self.table.change(id) { $0.forgetPosition(through: watermark) }
            return []
        case .recordEvent(let kind, let detail):
            return self.withAll(at: moment) { $0.recordEvent(kind, detail, $1) }
        case .transport, .fix, .battery, .log, .stop, .timer: return []
        }
    }

    // MARK: - Trackables

    private mutating func add(_ trackable: Trackable, at moment: Moment) -> [Action] {
        let id = trackable.id
        guard !self.table.isTracked(id), self.stop == nil else { return [] }
        self.changeDormant(id) { _ in }
        guard let dormant = self.table.dormant(id) else { return [] }
        var machine = TrackableStateMachine(
            trackable, resuming: dormant, policy: self.policy, battery: self.device.battery,
            seed: self.random.next(), self.context(at: moment))
        if self.unclearedJourneys.contains(id) {
            self.member.abandonClearing(of: .journey(id))
            machine.destination.resume()
        }
        self.table.track(machine)
        var actions = self.with(id, at: moment) { $0.resume(dormant.departure, $1) }
        actions.append(.stateChanged(id, .offline, self.link.rejection))
        actions += self.recordLifecycle(.started, of: [id], at: moment)
        let battery = self.device.battery
        actions += self.with(id, at: moment) { $0.reportLowBattery(battery, $1) + $0.publishResolution($1) }
        if self.member.session.isOffline { return actions }
        actions.append(self.subscribe(self.configuration.filters(of: id), .adding(id)))
        return actions + self.subscribeToCommands(of: [id])
    }

    private mutating func change(_ trackable: Trackable, at moment: Moment) -> [Action] {
        let battery = self.device.battery
        return self.with(trackable.id, at: moment) { $0.change(trackable, battery: battery, $1) }
    }

    /// Stops tracking a trackable: ends its trip and clears its retained presence and resolution at the broker.
    ///
    /// The journey to its destination is cleared too. The retained position remains. The messages of a trackable that another publisher took over are not cleared.
    mutating func remove(_ id: TrackableID, at moment: Moment) -> [Action] {
        var departure: Departure?
        let trip = self.with(id, at: moment) { trackable, context in
            let end = trackable.endTrip(context)
            departure = end.departure
            return end.outputs
        }
        let ended = self.with(id, at: moment) { trackable, _ in trackable.endIntake() }
        guard let trackable = self.table[id] else { return [] }
        // The retained messages of a superseded trackable are its owner's.
        let isOwn = trackable.failure == nil && trackable.status.since != nil
        let clearing = isOwn ? [self.withdraw(id)] : []
        self.table.rest(id, as: trackable.dormant(departure, at: moment))
        self.ignoreAnswers { $0 == id }
        self.requestLimits.forget(id)
        self.timers.remove(.trackable(id))
        var actions = self.handle(self.member.forget(id), at: moment)
        if self.member.session.isConnected {
            let journey = trackable.destination.isSubscribed ? self.configuration.journeyFilters(of: id) : []
            let filters = self.configuration.allFilters(of: id, isRemote: trackable.feed.isRemote)
            actions.append(.send([self.member.unsubscribe(filters + journey)]))
        }
        actions += clearing
        actions.append(.removed(id))
        return trip + actions + ended + self.updateSensorResolution()
    }

    /// Ignores the answers that the broker has not yet given to messages about certain trackables. `isConcerned`
    /// returns `true` for these trackables.
    private mutating func ignoreAnswers(about isConcerned: (TrackableID) -> Bool) {
        self.member.withdrawRequests { purpose in
            guard case .trackable(let id, let publication) = purpose else { return false }
            return publication.isIgnoredOnceRemoved && isConcerned(id)
        }
    }

    /// Records an event of the given kind for each of these trackables: tracking began, or it ends in order.
    ///
    /// Does nothing unless the configuration enables such events.
    mutating func recordLifecycle(
        _ kind: TrackingEvent.Kind, of ids: some Sequence<TrackableID>, at moment: Moment
    ) -> [Action] {
        guard self.configuration.recordsLifecycle else { return [] }
        return ids.flatMap { id in self.with(id, at: moment) { $0.recordEvent(kind, [:], $1) } }
    }

    // MARK: - Ingested records

    /// Ingests records of a trackable that another system supplied, such as over HTTP.
    ///
    /// The trackable is tracked until the configured `intakeLease` has passed without further records. While the
    /// publisher is off or stopping, the request fails.
    private mutating func ingest(
        _ batch: IntakeQueue.Batch, of id: TrackableID, by deadline: MonotonicTime, at moment: Moment
    ) -> [Action] {
        guard self.stop == nil, self.configuration.isOn else {
            let error = TrackingError(
                .stopped,
                "cannot ingest records of '\(id)': the publisher is stopping or switched off. Send them again later.")
            return [.answered(request: batch.request, .failure(error))]
        }
        let leaseEnd = moment.now.advanced(by: self.configuration.intakeLease)
        return self.lease(id, until: leaseEnd, at: moment)
            + self.with(id, at: moment) { trackable, _ in trackable.ingest(batch, by: deadline) }
    }

    /// Tracks every dormant trackable (in the log, but not tracked) that has pending records, so that they are sent.
    ///
    /// If a recorder may be started later, tracking lasts at least ``RemoteSource/drainPause``.
    private mutating func drain(at moment: Moment) -> [Action] {
        let pending = self.table.dormant.filter(\.trackable.isPending).map(\.id)
        let pause = self.configuration.recording.expectsLaterRecorder ? RemoteSource.drainPause : .zero
        return pending.flatMap { self.lease($0, until: moment.now.advanced(by: pause), at: moment) }
    }

    /// Tracks every dormant trackable (in the log, but not tracked) with pending records, because a recorder answered.
    ///
    /// Does this at most once in ``RemoteSource/drainPause``, and only if the configuration expects recorders that
    /// start later.
    mutating func drainForRecorder(at moment: Moment) -> [Action] {
        guard self.configuration.recording.expectsLaterRecorder, self.table.hasDormant,
            self.lastDrain.map({ $0.advanced(by: RemoteSource.drainPause) <= moment.now }) ?? true
        else { return [] }
        self.lastDrain = moment.now
        return self.drain(at: moment)
    }

    /// Tracks a trackable whose records another system supplies, until `leaseEnd` or later. Adds the trackable if it is
    /// not tracked.
    private mutating func lease(_ id: TrackableID, until leaseEnd: MonotonicTime, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        // The publisher that had superseded this one has left, so the trackable is added anew.
        if let trackable = self.table[id], trackable.failure?.code == .takenOver, trackable.isIntakeIdle,
            self.others(on: id).presences.isEmpty
        {
            actions += self.remove(id, at: moment)
        }
        if !self.table.isTracked(id) {
            var trackable = Trackable(id)
            // A repeated position would pretend that the remote source is alive.
            trackable.isRepeated = false
            actions += self.add(trackable, at: moment)
        }
        let isNew = self.table.change(id) { $0.extendLease(to: leaseEnd) } == true
        return isNew ? actions + self.subscribeToClearings(of: [id]) : actions
    }

    // MARK: - Log

    private mutating func asked(_ request: LogRequest, _ number: UInt64, at moment: Moment) -> [Action] {
        switch request {
        case .sendNow:
            let actions = self.tryNow() + self.sendRecords(all: false, at: moment)
            let busy = self.table.all.filter(\.backlog.isBusy).map(\.id)
            self.sending.add(SendingRequest(number, batchOf: Set(busy), at: moment.now))
            return actions
        case .flush:
            let pending = self.table.all.flatMap(\.backlog.spool.contents)
            self.sending.add(SendingRequest(number, everythingOf: pending, at: moment.now))
            return self.tryNow() + self.sendRecords(all: true, at: moment)
        case .purge:
            return self.purge(number, at: moment)
        case .putBack(let rows, let id):
            guard !self.table.isTracked(id) else {
                return self.with(id, at: moment) { trackable, _ in trackable.putBack(rows, number) }
            }
            self.changeDormant(id) { _ in }
            return self.withDormant(id, at: moment) { $0.putBack(rows, number) }
        case .bind(let trackable, let unsent):
            return self.bind(trackable, unsent: unsent, number, at: moment)
        case .sending:
            return [.answered(request: number, .success(.sending(self.sending.figures(of: self.table))))]
        }
    }

    /// Requests an immediate attempt to connect to the broker, without the rest of the wait. Does nothing unless the
    /// publisher is offline.
    func tryNow() -> [Action] { self.member.session.isOffline ? [.send([.tryNow])] : [] }

    /// Publishes what waits to be sent: pending records, and unpublished ends of trips.
    ///
    /// - Parameter all: `true` for all records; `false` for one batch of each trackable.
    mutating func sendRecords(all: Bool, at moment: Moment) -> [Action] {
        self.hold.release()
        return self.publishDepartures(of: self.table.departed, at: moment)
            + self.withAll(at: moment) { $0.sendRecords(all: all, $1) }
    }

    /// Publishes the final state of the last trip of each given trackable that is no longer tracked. Does nothing
    /// without an announced connection, or while the publisher is off.
    mutating func publishDepartures(of ids: [TrackableID], at moment: Moment) -> [Action] {
        guard self.member.session.isAnnounced, self.configuration.isOn else { return [] }
        let configuration = self.configuration
        return ids.flatMap { id in
            self.withDormant(id, at: moment) { $0.publishDeparture(of: id, configuration) }
        }
    }

    /// Removes all records of all trackables from the log and answers the request with their number.
    ///
    /// Records of trackables that are not tracked are removed as well.
    private mutating func purge(_ number: UInt64, at moment: Moment) -> [Action] {
        let count = self.table.recordCount
        var actions = self.withAll(at: moment) { $0.clearRecords($1) }
        for id in self.table.dormant.filter({ $0.trackable.count > 0 }).map(\.id) {
            actions += self.withDormant(id, at: moment) { $0.clearRecords() }
        }
        return actions + [.answered(request: number, .success(.records(count)))]
    }

    /// Tracks one trackable and stops tracking all others, whose records are removed from the log.
    ///
    /// If other trackables have unacknowledged records, `unsent` must be `clear`. Otherwise nothing changes, and the
    /// request fails with the error `unsentPoints`.
    private mutating func bind(
        _ trackable: Trackable, unsent: UnsentPoints, _ number: UInt64, at moment: Moment
    ) -> [Action] {
        if unsent != .clear, let error = self.table.unsentError(besides: trackable.id) {
            return [.answered(request: number, .failure(error))]
        }
        var actions: [Action] = []
        for id in self.table.tracked where id != trackable.id {
            actions += self.with(id, at: moment) { $0.clearRecords($1) } + self.remove(id, at: moment)
        }
        let isTracked = self.table.isTracked(trackable.id)
        actions += isTracked ? self.change(trackable, at: moment) : self.add(trackable, at: moment)
        return actions + [.answered(request: number, .success(.bound))]
    }

    // MARK: - A fix now

    /// Requests a fix from the receiver at once. The next fix is recorded and published, even if the filters would skip
    /// it.
    private mutating func report(_ request: UInt64, at moment: Moment) -> [Action] {
        guard self.configuration.isOn, !self.table.isEmpty else {
            return [.answered(request: request, .failure(FixRequests.unavailable))]
        }
        self.fixRequests.add(request)
        self.timers.set(.report, deadline: moment.now.advanced(by: FixRequests.longestWait))
        return self.updateSensorResolution()
    }

    /// Answers the callers that requested a fix.
    ///
    /// - Parameter error: The reason why there is no fix. `nil` after a fix was processed: the fix is then published
    ///   now, even if sending is deferred.
    mutating func endReports(_ error: TrackingError? = nil) -> [Action] {
        guard !self.fixRequests.isEmpty else { return [] }
        if error == nil { self.hold.release() }
        self.timers.remove(.report)
        return self.fixRequests.end(error) + self.updateSensorResolution()
    }

    /// Returns the publisher's state at the given time, for callers.
    func snapshot(at moment: Moment) -> PublisherSnapshot {
        PublisherSnapshot(
            time: moment.wall, link: self.link.status,
            trackables: self.table.snapshots(self.configuration, at: moment), sensorResolution: self.device.sensor,
            lastFix: self.table.all.compactMap(\.position.fix).max { $0.time < $1.time },
            battery: self.device.battery,
            unrecorded: self.table.unrecorded(by: self.configuration.recording, at: moment))
    }

    // MARK: - Settings

    /// Replaces the configuration of the running publisher. The settings that cannot change while it runs, such as its
    /// identity at the broker, remain.
    private mutating func configure(_ new: PublisherConfiguration, at moment: Moment) -> [Action] {
        let old = self.configuration
        let next = new.withIdentity(of: old)
        self.configuration = next
        self.member.publishesLiveness = next.isOn
        var actions = next.capture == old.capture ? [] : self.configure(next.capture, at: moment)
        let (zones, oldZones) = (next.capture?.zones.zones ?? [], old.capture?.zones.zones ?? [])
        if next.deferral != old.deferral { self.hold.use(next.deferral) }
        if next.limits != old.limits { actions.append(.limitsChanged(next.limits)) }
        if zones != oldZones {
            let areMore = !zones.allSatisfy(oldZones.contains)
            for id in self.table.tracked {
                let others = self.others(on: id)
                actions += self.with(id, at: moment) { $0.hide(areMore: areMore, others, $1) }
            }
        }
        let battery = self.device.battery
        actions += self.withAll(at: moment) { $0.configure(from: old, battery: battery, $1) }
        actions += self.updateSensorResolution()
        guard next.isOn != old.isOn else { return actions }
        return actions + (next.isOn ? self.switchedOn(at: moment) : self.switchedOff(at: moment))
    }

    /// Replaces the settings of the capture, which filters and annotates fixes. Its knowledge of clock and motion
    /// remains.
    private mutating func configure(_ next: CaptureStateMachine?, at moment: Moment) -> [Action] {
        guard let next, self.capture != nil else {
            self.capture = next
            return []
        }
        return self.recordEvents(self.capture?.configure(as: next, at: moment) ?? [], at: moment)
    }

    /// Handles that the caller switched the publisher off: withdraws every trackable, then publishes the goodbye.
    ///
    /// The broker's answers to messages already sent are ignored.
    private mutating func switchedOff(at moment: Moment) -> [Action] {
        self.ignoreAnswers { _ in true }
        var actions = self.endReports(FixRequests.switchedOff)
        actions += self.withAll(at: moment) { $0.switchedOff($1) }
        if self.member.session.isAnnounced { actions.append(self.publishGoodbye()) }
        return actions + self.withAll(at: moment) { $0.reportState(reason: nil, $1) }
    }

    private mutating func switchedOn(at moment: Moment) -> [Action] {
        guard self.member.session.isAnnounced else { return [] }
        var actions: [Action] = [.send(self.member.publishLiveness())]
        for id in self.table.tracked { actions += self.enter(id, at: moment) }
        return actions + self.withAll(at: moment) { $0.reportState(reason: nil, $1) }
    }

    // MARK: - Commands

    /// Handles that the caller carried out a command from the broker, or rejected it. The answer is recorded as an
    /// event, even while the publisher is off, and published on the command's response topic if there is one.
    private mutating func answer(
        _ answer: CommandAnswer, to command: ReceivedCommand, at moment: Moment
    ) -> [Action] {
        let isAnnounced = self.member.session.isAnnounced
        var actions: [Action] = []
        if isAnnounced, let message = command.message(of: answer) {
            actions.append(.send([self.member.publish(message, .other)]))
        }
        let (id, detail) = (command.trackable, answer.eventDetail)
        if self.table.isTracked(id) { return actions + self.with(id, at: moment) { $0.recordAnswer(detail, $1) } }
        return actions
            + self.withDormant(id, at: moment) {
                $0.recordAnswer(detail, of: id, isAnnounced: isAnnounced, at: moment.wall)
            }
    }
}
