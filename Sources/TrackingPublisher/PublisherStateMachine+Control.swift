import TrackingCore

/// What is asked of a publisher that runs: how it stands, a fix now, other settings, commands from the broker.
extension PublisherStateMachine {
    /// How things stand.
    func snapshot(at moment: Moment) -> PublisherSnapshot {
        let trackables = self.assets.values.map { asset in
            PublisherSnapshot.Trackable(
                id: asset.trackable.id, state: asset.state, failure: asset.failure, resolution: asset.inForce,
                destination: asset.trackable.destination, trip: asset.trip.status(at: moment) ?? asset.lastTrip)
        }
        return PublisherSnapshot(
            time: moment.wall, link: self.link, trackables: trackables.sorted { $0.id < $1.id },
            sensorResolution: self.sensor, lastFix: self.assets.values.compactMap(\.lastFix).max { $0.time < $1.time },
            battery: self.battery, unrecorded: self.unrecorded(at: moment))
    }

    /// The records that wait for a recorder; `nil` where none waits, or none is waited for.
    private func unrecorded(at moment: Moment) -> PublisherSnapshot.Unrecorded? {
        guard self.configuration.recording.needsRecorder else { return nil }
        let count = self.assets.values.reduce(0) { $0 + $1.spool.queued }
        let left = self.logs.values.reduce(0) { $0 + $1.streams.reduce(0) { $0 + $1.stored.count } }
        guard count + left > 0 else { return nil }
        let since = self.assets.values.compactMap(\.spool.unrecordedSince).min()
        let wait = since.map { $0.duration(to: moment.now) } ?? .zero
        // A trackable is left with records in the log only where no recorder answers.
        return PublisherSnapshot.Unrecorded(
            count: count + left, wait: left > 0 ? max(wait, Self.drainPause) : wait,
            recorders: self.configuration.recording.recorders.sorted())
    }

    // MARK: - A fix now

    /// How long a fix that was asked for is waited for.
    static let longestReport: Duration = .seconds(20)

    /// The receiver is asked for a fix at once; the next one is recorded and told, whatever the filters say.
    mutating func report(_ request: UInt64, at moment: Moment) -> [Action] {
        guard self.configuration.isOn, !self.assets.isEmpty else {
            let error = TrackingError(.invalidConfiguration, "the agent is off, or carries nothing")
            return [.answered(request: request, .failure(error))]
        }
        self.reports.append(request)
        self.timers.set(.report, deadline: moment.now.advanced(by: Self.longestReport))
        return self.sensorMayHaveChanged()
    }

    /// The fix that was asked for is there, and goes out now, also where sending is deferred.
    mutating func reported() -> [Action] {
        if !self.reports.isEmpty { self.isReleaseDue = true }
        return self.endReports(nil)
    }

    /// The fix that was asked for did not come in time.
    mutating func reportFailed() -> [Action] {
        let seconds = Self.longestReport.components.seconds
        return self.endReports(
            TrackingError(.inputUnreadable, "the receiver told no position within \(seconds) s that may be told"))
    }

    private mutating func endReports(_ error: TrackingError?) -> [Action] {
        guard !self.reports.isEmpty else { return [] }
        let result: Result<Answer, TrackingError> = error.map { .failure($0) } ?? .success(.reported)
        let answers = self.reports.map { Action.answered(request: $0, result) }
        self.reports = []
        self.timers.remove(.report)
        return answers + self.sensorMayHaveChanged()
    }

    // MARK: - Settings

    /// The caller chose otherwise. Who it is to the broker, and which recorders acknowledge, stays as it was.
    mutating func configure(_ new: PublisherConfiguration, at moment: Moment) -> [Action] {
        let old = self.configuration
        var next = new
        (next.client, next.session, next.topicRoot, next.lease) = (old.client, old.session, old.topicRoot, old.lease)
        (next.isClientRandom, next.takesCommands) = (old.isClientRandom, old.takesCommands)
        next.sendsLive = old.sendsLive
        next.recording.recorders = old.recording.recorders
        next.recording.unnamedRecorder = old.recording.unnamedRecorder
        self.configuration = next
        var actions = next.capture == old.capture ? [] : self.capture(as: next.capture, at: moment)
        let (zones, oldZones) = (next.capture?.zones.zones ?? [], old.capture?.zones.zones ?? [])
        if next.deferral != old.deferral {
            self.deferral = next.deferral
            self.isReleaseDue = true
        }
        if next.limits != old.limits { actions.append(.limitsChanged(next.limits)) }
        if zones != oldZones {
            actions += self.hideWhatWasKept(areMore: !zones.allSatisfy(oldZones.contains), at: moment)
        }
        for id in Array(self.assets.keys) { actions += self.configure(id, from: old, at: moment) }
        actions += self.sensorMayHaveChanged()
        guard next.isOn != old.isOn else { return actions }
        return actions + (next.isOn ? self.switchedOn(at: moment) : self.switchedOff(at: moment))
    }

    /// What is captured is chosen otherwise; what was found so far stays.
    private mutating func capture(as next: CaptureStateMachine?, at moment: Moment) -> [Action] {
        guard let next, self.capture != nil else {
            self.capture = next
            return []
        }
        return self.tell(self.capture?.configure(as: next, at: moment) ?? [], at: moment)
    }

    private mutating func configure(
        _ id: TrackableID, from old: PublisherConfiguration, at moment: Moment
    ) -> [Action] {
        let new = self.configuration
        if new.trips != old.trips { self.assets[id]?.trip.configure(new.trips) }
        if new.deferral != old.deferral { self.assets[id]?.deferralMayHaveChanged(new) }
        var actions: [Action] = []
        if new.lowBattery != old.lowBattery {
            self.assets[id]?.lowBatteryMayHaveChanged(default: new.lowBattery)
            actions += self.tellLowBattery(of: id, at: moment)
        }
        if new.recording != old.recording {
            self.assets[id]?.sendsByItself = new.recording.batchWindow != nil
            actions += self.askSpool(of: id, at: moment) { $0.configure(new.recording, now: moment.now) }
        }
        if new.sendsRawLocations != old.sendsRawLocations {
            self.assets[id]?.sendRaw(new.sendsRawLocations)
            if self.session.isAnnounced, self.assets[id]?.isSending == true {
                actions += self.announce(id, at: moment)
            }
        }
        let own = self.assets[id]?.trackable
        let changes: [ConditionChange] = [
            .defaultChanged(new.defaultResolution), .floorChanged(own?.floor ?? new.floor),
            .ceilingChanged(own?.ceiling ?? new.ceiling),
        ]
        return actions + self.reconsider(id, changes, at: moment)
    }

    /// Everyone hears that nobody is here any more; what is on its way is not known to have arrived.
    private mutating func switchedOff(at moment: Moment) -> [Action] {
        self.forgetAnswers { $0.published != nil }
        var actions = self.endReports(TrackingError(.stopped, "the agent was switched off"))
        for id in Array(self.assets.keys) {
            actions += self.closeRecords(of: id, isOrderly: true, at: moment)
            for timer: Timer in [.silence(id), .announce(id)] { self.timers.remove(timer) }
            guard self.assets[id]?.failure == nil, self.assets[id]?.since != nil else { continue }
            actions += self.clear(id)
            self.assets[id]?.connectionLost()
            self.assets[id]?.since = nil
        }
        if self.session.isAnnounced { actions.append(self.sayGoodbye()) }
        return actions + self.states(reason: nil, at: moment)
    }

    private mutating func switchedOn(at moment: Moment) -> [Action] {
        guard self.session.isAnnounced else { return [] }
        var actions = self.sayAlive()
        for id in Array(self.assets.keys) { actions += self.enter(id, at: moment) }
        return actions + self.states(reason: nil, at: moment)
    }

    // MARK: - Commands

    /// Where the log keeps which commands were seen.
    static let commandsKey = "commands"

    /// Commands of these are heard from now on, where any are taken.
    mutating func listenForCommands(on ids: [TrackableID]) -> [Action] {
        guard self.configuration.takesCommands, !ids.isEmpty else { return [] }
        return [self.subscribe(ids.map { .topic(.command($0)) }, .commands(ids))]
    }

    /// The broker lets commands of this trackable be heard, or does not: that is told once a connection.
    mutating func commandsAnswered(of id: TrackableID, _ refusal: TrackingError?, at moment: Moment) -> [Action] {
        let isKnown = self.lesserRefusals[id]?.what.contains(.commands) == true
        self.answered(.commands, of: id, isRefused: refusal != nil, at: moment)
        guard let refusal, !isKnown, self.assets[id] != nil else { return [] }
        return [.commandsRefused(id, refusal)]
    }

    /// A command came: each is carried out once, and none that is too late.
    mutating func commanded(
        _ payload: ArraySlice<UInt8>?, _ properties: MessageProperties, on id: TrackableID, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard self.configuration.takesCommands, self.assets[id] != nil, let payload else { return [] }
        let command = try CommandCodec.decode(payload)
        guard self.gate.consider(command, now: moment.wall) == .take else { return [] }
        let topic = properties.responseTopic.flatMap {
            self.configuration.topicRoot.isForAnswers(of: id, $0) ? $0 : nil
        }
        let received = ReceivedCommand(
            trackable: id, command: command, responseTopic: topic, correlationData: properties.correlationData)
        return [.log(id, .keep(Self.commandsKey, self.gate.kept)), .commanded(received)]
    }

    /// A command was carried out or refused: told as an event at once, on or off, and where the command asked for it.
    mutating func answer(_ answer: CommandAnswer, to command: ReceivedCommand, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        if let topic = command.responseTopic, self.session.isAnnounced, let bytes = try? CommandCodec.encode(answer) {
            var properties = MessageProperties()
            properties.contentType = "application/json"
            properties.correlationData = command.correlationData
            let message = OutgoingMessage(topic: topic, payload: bytes, isRetained: false, properties: properties)
            actions.append(.send([.publish(message, self.token(.other))]))
        }
        return actions + self.tellAnswer(answer.eventDetail, of: command.trackable, at: moment)
    }

    private mutating func tellAnswer(_ detail: [String: JSONValue], of id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id] != nil, self.session.isAnnounced else {
            guard self.assets[id] == nil else { return self.tell(.command, detail, of: id, at: moment) }
            return self.tellOfRemoved(detail, id, at: moment)
        }
        guard let event = self.event(.command, detail, of: id, at: moment) else { return [] }
        return [self.publish(.event(id), MessageCodec.encode(event))] + self.append(event.record, of: id)
    }

    /// What a command that removed its own trackable is answered with is the last record of its stream, for now.
    private mutating func tellOfRemoved(
        _ detail: [String: JSONValue], _ id: TrackableID, at moment: Moment
    ) -> [Action] {
        guard let stream = self.logs[id]?.current, let seq = self.logs[id]?.nextSeq() else { return [] }
        let event = TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: stream, seq: seq, time: moment.wall, kind: .command,
            detail: detail)
        let append = Action.log(id, .append(stream, event.record))
        return self.session.isAnnounced ? [self.publish(.event(id), MessageCodec.encode(event)), append] : [append]
    }
}

extension PublisherStateMachine.Purpose {
    /// The trackable that it is published of; `nil` where it is about what is listened to.
    var published: TrackableID? {
        switch self {
        case .update(let id), .raw(let id), .history(let id), .presence(let id), .resolution(let id): id
        case .all, .settle, .adding, .entering, .commands, .departure, .clearing, .other: nil
        }
    }
}

extension TrackedAsset {
    /// Positions go out as the receiver told them, or do not any more.
    fileprivate mutating func sendRaw(_ isWanted: Bool) {
        self.rawLane = isWanted ? self.rawLane ?? LiveLane(filter: self.lane.filter) : nil
    }
}

extension Resolution {
    /// The same accuracy, as soon as it can be had.
    var atOnce: Resolution {
        // Both are in range.
        try! Resolution(
            accuracy: self.accuracy, desiredInterval: min(self.desiredInterval, .seconds(1)), minimumDisplacement: 0)
    }
}
