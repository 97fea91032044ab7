import TrackingCore

/// What moves on by itself: announcements, updates, heartbeats, silence, leave-taking.
extension PublisherStateMachine {
    /// A trackable begins on this connection: the standing publishers were read, so it can be announced.
    mutating func enter(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id], asset.failure == nil, asset.refusal == nil, self.configuration.isOn else {
            return []
        }
        if asset.since == nil {
            let since = self.since(for: id, at: moment)
            self.assets[id]?.since = since
            // Nobody who is there is later; with one that says the latest time there is it may be a tie.
            let overtaken = self.presence.owner(of: id).map { self.compareOwners($0, at: moment) } ?? []
            guard overtaken.isEmpty else { return overtaken }
        }
        self.assets[id]?.isEntered = true
        // After an outage the newest position goes at once.
        self.isReleaseDue = true
        return self.announce(id, at: moment)
    }

    /// The greater of the own clock and a little after the latest publisher that stands; where none is later on the wire, a tie
    /// decides.
    private func since(for id: TrackableID, at moment: Moment) -> UnixTime {
        let latest = self.presence.standingPublishers(on: id).map(\.since).max()
        let after = latest.map { UnixTime($0.seconds + 0.001) } ?? moment.wall
        return min(max(moment.wall, after), WireLimits.latestTime)
    }

    /// Presence, the resolution in force and the last update.
    mutating func announce(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id], let since = asset.since, asset.failure == nil else { return [] }
        let presence = Presence(
            kind: .publisher, session: self.session.session, connection: self.session.connection,
            lease: self.session.lease, since: since, stream: asset.stream,
            rawLocations: asset.rawLane != nil)
        var actions = [
            self.publish(.publisher(id, self.session.client), MessageCodec.encode(presence), .presence(id))
        ]
        self.assets[id]?.published = nil
        self.assets[id]?.spool.spoke()
        self.assets[id]?.unshownTrip = asset.unshownTrip ?? asset.trip.status(at: moment)
        // The state first: no resolution is published that tells an old one.
        actions += self.state(of: id, reason: nil, at: moment)
        actions += self.resolutionMayHaveChanged(id, at: moment)
        // Where a newer one waits it goes out by itself.
        if self.sendsByItself, let update = self.assets[id]?.lane.again(now: moment.now) {
            actions += self.send(update, of: id, at: moment)
        }
        return actions
    }

    /// Sends what waits, tells events that were kept, and looks after what must happen later.
    mutating func progress(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        // Over a copy of the names: going through the trackables themselves would copy them all at the first change.
        let concerned = self.concerned()
        for id in concerned {
            actions += self.sendNext(of: id, at: moment)
            let silence = self.assets[id]?.silenceDeadline(isHolding: self.isHolding)
            self.timers.keep(.silence(id), at: self.session.isAnnounced && self.sendsByItself ? silence : nil)
            if self.sendsByItself { actions += self.showTrip(of: id) }
            // Behind the live lane: the newest position goes first.
            actions += self.openRecords(of: id, at: moment)
            actions += self.keepHeld(of: id, at: moment)
        }
        for id in concerned { actions += self.tellKeptEvents(of: id) }
        actions += self.sayDepartures(isAskedFor: self.sendsByItself)
        actions += self.leaveIfDone(at: moment)
        for id in self.assets.takeTouched() {
            let asset = self.assets[id]
            self.timers.keep(.asset(id), at: .earlier(asset?.spool.nextDeadline, asset?.trip.nextDeadline))
        }
        return actions
    }

    /// What of the whole publisher decides how each of its trackables goes on.
    struct Conditions: Hashable, Sendable {
        var isOn: Bool
        var isAnnounced: Bool
        var isAlive: Bool
        var sendsByItself: Bool
        var isHolding: Bool
    }

    /// The trackables that may have something to do: those that something happened to, or all where something happened to the
    /// whole publisher.
    private mutating func concerned() -> [TrackableID] {
        let conditions = Conditions(
            isOn: self.configuration.isOn, isAnnounced: self.session.isAnnounced,
            isAlive: self.session.isLivenessConfirmed, sendsByItself: self.sendsByItself, isHolding: self.isHolding)
        // What is deferred is let go for all of them at moments of its own.
        guard conditions == self.conditions, self.deferral == nil else {
            self.conditions = conditions
            return Array(self.assets.keys)
        }
        return Array(self.assets.touched)
    }

    mutating func sendNext(of id: TrackableID, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        guard self.session.isAnnounced, let asset = self.assets[id], asset.isSending, self.isOpenForUpdates(asset)
        else { return [] }
        if let update = self.assets[id]?.lane.next(written: asset.written, now: moment.now) {
            self.assets[id]?.owesUpdate = false
            actions += self.send(update, of: id, at: moment)
        }
        if let update = self.assets[id]?.rawLane?.next(now: moment.now),
            let payload = try? LocationCodec.encodeRaw(update)
        {
            actions.append(self.publish(.raw(id), payload, .raw(id)))
        }
        return actions
    }

    private mutating func send(_ update: LocationUpdate, of id: TrackableID, at moment: Moment) -> [Action] {
        do throws(TrackingError) {
            var leftOut = 0
            let payload = try LocationCodec.encode(update, leftOut: &leftOut)
            self.assets[id]?.lane.leftOut(leftOut)
            let seqs = self.assets[id]?.lane.seqsInFlight ?? SeqSet()
            if self.countsLive(id) { self.assets[id]?.spool.sentLive(seqs) }
            self.lastAttempt = moment.wall
            return [self.publish(.location(id), payload, .update(id))]
        } catch {
            // Only a single point above the limit; it cannot be sent now or ever.
            self.assets[id]?.lane.acknowledged()
            return [.badMessage(topic: self.configuration.topicRoot.path(.location(id)), error)]
        }
    }

    /// What stands on the topic may not be shown any more: the last position as it may be takes its place, asked for or not. Where
    /// nothing may be, the topic is cleared.
    mutating func replacePosition(of id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id]?.lane.last != nil else { return self.clear(.location(id)) }
        guard self.session.isAnnounced, self.assets[id]?.isSending == true,
            let update = self.assets[id]?.lane.replaced(now: moment.now)
        else { return [] }
        return self.send(update, of: id, at: moment)
    }

    /// Tells events that waited, as far as they may go now. Nothing is told before it is in the log.
    private mutating func tellKeptEvents(of id: TrackableID) -> [Action] {
        // What ended a trackable is told as well.
        guard !self.unsentEvents.isEmpty, self.session.isAnnounced, self.configuration.isOn,
            let asset = self.assets[id], asset.isSending || asset.failure != nil
        else { return [] }
        let goesByItself = self.sendsByItself
        let events = self.unsentEvents.take(of: id) { event, isAskedFor in
            // The answer to a command was asked for.
            (goesByItself || isAskedFor || event.kind == .command)
                && (event.seq <= asset.written || event.stream != asset.stream)
        }
        return events.map { self.publish(.event(id), MessageCodec.encode($0)) }
    }

    /// The states that differ from what was told before.
    mutating func states(reason: TrackingError?, at moment: Moment) -> [Action] {
        self.assets.keys.flatMap { self.state(of: $0, reason: reason, at: moment) }
    }

    mutating func state(of id: TrackableID, reason: TrackingError?, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id] else { return [] }
        let isConnected = if case .offline = self.session.phase { false } else { self.configuration.isOn }
        let state = asset.state(isConnected: isConnected, isAlive: self.session.isLivenessConfirmed)
        let why = asset.failure ?? asset.refusal?.error ?? (state == .offline ? reason : nil)
        // The first reason is told as well, and a refusal; not each way in which there is no connection.
        let isRefused = asset.failure != nil || asset.refusal != nil || self.connectionRefusal != nil
        let isNewReason = why != nil && why?.code != asset.stateReason && (isRefused || asset.stateReason == nil)
        guard state != asset.state || isNewReason else { return [] }
        self.assets[id]?.state = state
        self.assets[id]?.stateReason = why?.code
        return [.stateChanged(id, state, why)] + self.resolutionMayHaveChanged(id, at: moment)
    }

    // MARK: - Time

    mutating func timersFired(at moment: Moment) -> [Action] {
        var actions = self.apply(self.presence.timerFired(now: moment.now), at: moment)
        if self.session.timerFired(now: moment.now) { actions += self.sayAlive() }
        actions += self.captureTimersFired(at: moment)
        actions += self.waitingRequestsDue(at: moment)
        for timer in self.timers.popExpired(now: moment.now) {
            switch timer {
            case .silence(let id): actions += self.silenceEnded(id, at: moment)
            case .announce(let id): if self.session.isAnnounced { actions += self.announceAgain(id, at: moment) }
            case .retry(let id): actions += self.retry(id, at: moment)
            case .lesser(let id): actions += self.tryLesser(id, at: moment)
            case .asset(let id): actions += self.assetTimerFired(id, at: moment)
            case .lease(let id): actions += self.leaseEnded(id, at: moment)
            case .resolution(let id): actions += self.dampingEnded(of: id, at: moment)
            case .intake(let id, let request): actions += self.intakeExpired(request, of: id)
            case .report: actions += self.reportFailed()
            case .requests: actions += self.requestsExpected(at: moment)
            case .leave: actions += self.leave()
            }
        }
        return actions
    }

    /// Something of a trackable's log or trip is due.
    private mutating func assetTimerFired(_ id: TrackableID, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        if let deadline = self.assets[id]?.spool.nextDeadline, deadline <= moment.now {
            actions += self.askSpool(of: id, at: moment) { $0.timerFired(now: moment.now) }
        }
        actions += self.tripTimerFired(of: id, at: moment)
        // Whatever came of it, it is looked at when it is due next.
        self.assets.touch(id)
        return actions
    }

    /// Somebody came: liveness, presence, the resolution in force and the last update again.
    private mutating func announceAgain(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id]?.isSending == true else { return [] }
        return self.sayAlive() + self.announce(id, at: moment)
    }

    private mutating func silenceEnded(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard self.session.isAnnounced, self.assets[id]?.isSending == true else { return [] }
        guard !self.isHolding else {
            self.isReleaseDue = true
            return []
        }
        let wall = self.believedTime(at: moment)
        self.assets[id]?.lane.endSilence(now: moment.now, wallClock: wall)
        guard let update = self.assets[id]?.lane.again(now: moment.now) else { return [] }
        return self.send(update, of: id, at: moment)
    }

    private mutating func retry(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard let wait = self.assets[id]?.refusal?.wait else { return [] }
        self.assets[id]?.refusal = nil
        // Should it be refused again, the wait goes on growing.
        self.assets[id]?.lastWait = wait
        // Without a connection, the next one tries it.
        guard self.session.isAnnounced else { return [] }
        return [self.subscribe(self.filters(id), .adding(id))] + self.states(reason: nil, at: moment)
    }

    // MARK: - Leaving

    mutating func stop(by deadline: MonotonicTime?, at moment: Moment) -> [Action] {
        guard self.stop != .closing else { return [] }
        let told = self.stop == nil ? self.tellLifecycle(.stopping, of: Array(self.assets.keys), at: moment) : []
        self.isReleaseDue = true
        self.stop = .finishing(by: deadline)
        self.timers.keep(.leave, at: deadline)
        let wall = self.believedTime(at: moment)
        for id in self.assets.keys {
            self.assets[id]?.lane.finish(wallClock: wall)
            self.assets[id]?.rawLane?.finish(wallClock: wall)
        }
        // What the broker refused is tried once more, now; what it refuses then is given up.
        let actions = told + self.assets.keys.flatMap { self.retry($0, at: moment) }
        self.connectionRefusal = nil
        return actions + self.tryNow()
    }

    /// A connection that waits to be tried again is tried now: somebody asks for something to go out.
    func tryNow() -> [Action] {
        if case .offline = self.session.phase { [.send([.tryNow])] } else { [] }
    }

    private mutating func leaveIfDone(at moment: Moment) -> [Action] {
        guard case .finishing = self.stop else { return [] }
        // What the live lane does not bring goes after it.
        let actions = self.isReadyForFix && !self.areRecordsOut ? self.sendRecords(all: true, at: moment) : []
        return actions + (self.isReadyToLeave ? self.leave() : [])
    }

    /// The orderly goodbye: presences first, then liveness, then the connection.
    private mutating func leave() -> [Action] {
        guard self.stop != .closing else { return [] }
        let isLimited = self.stop != .finishing(by: nil)
        // Where there is a limit, the goodbye itself is given a second more.
        let patience: Duration = if case .finishing(by: .some) = self.stop { .seconds(1) } else { .seconds(5) }
        self.stop = .closing
        var actions: [Action] = self.assets.all.compactMap { id, asset in
            // Where there is a limit, the end may come before anything went wrong for what is carried.
            let refusal = asset.failure == nil && !(isLimited && asset.isSent) ? self.connectionRefusal : nil
            return (asset.refusal?.error ?? refusal).map { .givenUp(id, $0) }
        }
        if self.session.isAnnounced {
            for (id, asset) in self.assets.all where asset.failure == nil && asset.since != nil {
                actions += self.clear(id)
            }
            if self.configuration.isOn { actions.append(self.sayGoodbye()) }
        }
        return actions + [.send([.close(within: patience)])]
    }

    /// The own liveness is withdrawn.
    mutating func sayGoodbye() -> Action {
        let goodbye = SessionStateMachine.goodbye(session: self.session.session, connection: self.session.connection)
        return self.publish(
            .liveness(self.session.client), self.configuration.isClientRandom ? [] : MessageCodec.encode(goodbye))
    }
}
