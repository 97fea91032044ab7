package import TrackingCore

/// The state machine of a publisher: its connection, source, battery and trackables. It uses no socket, clock or log.
///
/// Every event enters through ``happened(_:at:)`` and leaves as actions for the caller. Each trackable has its own
/// ``TrackableStateMachine``; the publisher passes events to it and carries out its outputs. This file handles time and
/// the source; `+Connection` handles messages, and `+Caller` handles requests of the caller.
package struct PublisherStateMachine: Sendable {
    @Boxed var configuration: PublisherConfiguration
    @Boxed var capture: CaptureStateMachine?
    let policy: any ResolutionPolicy
    var random: SplitMix64
    /// The publisher as a client of the broker: session, presences, unanswered requests, and retained messages to
    /// clear.
    var member: MemberStateMachine<Purpose>
    /// The state of the connection to the broker, as the publisher reports it to its caller.
    var link = PublisherLink()
    var table = TrackableTable()
    /// Limits the rate of resolution requests of each client.
    var requestLimits = RequestLimiter()
    var timers = DeadlineQueue<Timer>()
    /// The delay of sending until the device has moved.
    var hold: SendingHold
    var device = DeviceState()
    /// Decides if the receiver is needed, while only significant changes are recorded.
    var changeWatch = SignificantChangeWatch()
    var sending = Sending()
    /// The callers' requests for a new fix that wait until the source delivers it.
    var fixRequests = FixRequests()
    /// Decides which commands from the broker are delivered to the caller: each command once, and no expired command.
    var commands: CommandIntake
    /// The time at which ``drainForRecorder(at:)`` last looked for pending records of trackables that are not tracked;
    /// `nil` if it has not.
    var lastDrain: MonotonicTime?
    var stop: Stop?

    /// Makes the state machine of a publisher that tracks nothing and is not connected.
    ///
    /// - Parameters:
    ///   - configuration: The identity at the broker and the settings.
    ///   - policy: Decides the resolution of each trackable.
    ///   - logs: The records that the device's log contains, by trackable.
    ///   - kept: The named values that an earlier run stored in the log.
    ///   - seed: The seed of random delays and ids.
    package init(
        configuration: PublisherConfiguration, policy: any ResolutionPolicy,
        logs: [TrackableID: SpoolContents.Trackable] = [:],
        kept: [String: [UInt8]] = [:], seed: UInt64
    ) {
        self.configuration = configuration
        self.capture = configuration.capture
        self.policy = policy
        self.random = SplitMix64(seed: seed)
        self.member = MemberStateMachine(configuration, lease: configuration.lease)
        self.member.publishesLiveness = configuration.isOn
        self.hold = SendingHold(rule: configuration.deferral)
        self.commands = CommandIntake(stored: kept)
        for (id, log) in logs { self.changeDormant(id) { $0.log = log } }
        for key in StoredValues.Key.allCases {
            for (id, value) in key.values(in: kept) {
                self.changeDormant(id) { $0.restore(value, of: key) }
            }
        }
    }

    /// The next time at which the caller must give the event `timer` to this machine; `nil` for no such time.
    package var nextDeadline: MonotonicTime? {
        guard self.stop != .closing else { return nil }
        var next = MonotonicTime.earlier(self.member.nextDeadline, self.timers.next)
        next = .earlier(next, self.pauseDeadline)
        next = .earlier(next, self.changeWatch.deadline)
        next = .earlier(next, self.hold.nextDeadline)
        next = .earlier(next, self.requestLimits.nextDeadline)
        return .earlier(next, self.sending.nextDeadline)
    }

    /// `true` after the connection was closed for good. No further actions follow.
    package var isClosed: Bool { self.member.isClosed }

    /// The judgement whether the device's clock is reliable enough to remove records because of their age.
    package var ages: AgeTrust { self.device.ages }

    /// The number of received messages that could not be decoded.
    package var badMessages: Int { self.member.badMessages }

    /// The trackables that the publisher tracks, with their settings.
    package var trackables: [Trackable] { self.table.all.map(\.trackable) }

    /// `true` while sending is deferred until the device has moved far enough. Always `false` while the publisher
    /// stops.
    var isHolding: Bool { self.stop == nil && self.hold.isHolding }

    /// The publisher's progress: if everything recorded is sent, and if the publisher may leave the broker.
    package var readiness: PublisherReadiness {
        PublisherReadiness(
            table: self.table, isOn: self.configuration.isOn, sendsByItself: self.configuration.sendsByItself,
            isHolding: self.isHolding, isAnnounced: self.member.session.isAnnounced, rejection: self.link.rejection,
            stop: self.stop)
    }

    /// Handles an event of the publisher and returns the resulting actions.
    ///
    /// - Parameters:
    ///   - event: The event: something that happened, or a request of the caller.
    ///   - device: The time of the event by the device's clocks.
    /// - Returns: The actions that the caller must carry out, in order.
    package mutating func happened(_ event: Event, at device: Moment) -> [Action] {
        let moment = self.trusted(device)
        guard self.stop != .closing else {
            // Nothing is published after the goodbye, not even an answer to a late will.
            guard case .transport(.disconnected(let disconnection)) = event else { return [] }
            return self.disconnected(disconnection, at: moment).joined
        }
        var actions: [Action] = []
        if let step = self.device.clockStep(at: device) {
            self.capture?.clockStepped()
            actions += self.withAll(at: moment) { $0.clockStepped(by: step, $1) }
        }
        if case .fix(let fix, let raw) = event {
            actions += self.received(fix, raw: raw, device: device, at: moment)
        } else {
            actions += self.happened(event, now: moment)
        }
        actions += self.timersFired(at: moment)
        if self.hold.takeRelease(now: moment.now) { self.changeAll { $0.release() } }
        actions += self.progress(at: moment)
        actions += self.sending.answers(
            self.table, isConnected: self.member.session.isAnnounced, now: moment.now)
        return actions.joined
    }

    private mutating func happened(_ event: Event, now moment: Moment) -> [Action] {
        switch event {
        case .transport(let event): return self.happened(event, at: moment)
        case .battery(let percent):
            self.device.batteryRead(percent)
            return self.withAll(at: moment) { $0.batteryRead(percent, $1) }
        case .log(let id, let event):
            guard !self.table.isTracked(id) else { return self.with(id, at: moment) { $0.happened(event, $1) } }
            return self.withDormant(id, at: moment) { $0.happened(event) }
        case .stop(let deadline): return self.stop(by: deadline, at: moment)
        case .fix, .timer: return []
        default: return self.requested(event, at: moment)
        }
    }

    // MARK: - Trackables

    /// Returns the part of the publisher's state on which the decisions about a trackable depend.
    func context(at moment: Moment) -> TrackableContext {
        TrackableContext(
            moment: moment, session: self.member.session, connectionRejection: self.link.rejection,
            isHolding: self.isHolding, isFixRequested: !self.fixRequests.isEmpty,
            unsentEvents: self.table.unsentEvents,
            batchesAhead: max(1, Self.batchesAhead / max(1, self.table.tracked.count)),
            configurationBox: self._configuration, captureBox: self._capture)
    }

    /// The number of batches of records that all trackables together may read from the log before publishing them.
    private static let batchesAhead = 16

    /// Applies `decide` to a tracked trackable and carries out the outputs that it returns. Does nothing if the
    /// trackable is not tracked.
    mutating func with(
        _ id: TrackableID, at moment: Moment,
        _ decide: (inout TrackableStateMachine, TrackableContext) -> [TrackableStateMachine.Output]
    ) -> [Action] {
        let context = self.context(at: moment)
        guard let outputs = self.table.change(id, { decide(&$0, context) }), !outputs.isEmpty else { return [] }
        return self.perform(outputs, of: id, at: moment)
    }

    /// Calls `decide` with the state machine of every tracked trackable, and carries out the outputs that it returns.
    mutating func withAll(
        at moment: Moment,
        _ decide: (inout TrackableStateMachine, TrackableContext) -> [TrackableStateMachine.Output]
    ) -> [Action] {
        var actions: [Action] = []
        // `tracked` is copied here, because an output may end or begin the tracking of a trackable.
        for id in self.table.tracked { actions += self.with(id, at: moment, decide) }
        return actions
    }

    /// Applies `change` to the state machine of every tracked trackable. The closure only changes the state; it
    /// requests no action.
    mutating func changeAll(_ change: (inout TrackableStateMachine) -> Void) {
        for id in self.table.tracked { self.table.change(id, change) }
    }

    /// Applies `decide` to a dormant trackable (in the log, but not tracked), and carries out the outputs that it
    /// returns.
    ///
    /// Does nothing if the trackable is tracked or unknown.
    mutating func withDormant(
        _ id: TrackableID, at moment: Moment,
        _ decide: (inout DormantTrackable) -> [TrackableStateMachine.Output]
    ) -> [Action] {
        let outputs = self.table.changeDormant(id, decide) ?? []
        return self.perform(outputs, of: id, at: moment)
    }

    /// Applies `change` to the stored state of a trackable that is not tracked. If the publisher has no state of this
    /// trackable, an empty state is added first.
    mutating func changeDormant(_ id: TrackableID, _ change: (inout DormantTrackable) -> Void) {
        if self.table.dormant(id) == nil {
            self.table.rest(id, as: DormantTrackable(random: SplitMix64(seed: self.random.next())))
        }
        _ = self.table.changeDormant(id, change)
    }

    private mutating func perform(
        _ outputs: [TrackableStateMachine.Output], of id: TrackableID, at moment: Moment
    ) -> [Action] {
        var actions: [Action] = []
        for output in outputs {
            switch output {
            case .publish(let topic, let payload, let publication):
                if publication == .update || publication == .history { self.sending.lastAttempt = moment.wall }
                actions.append(.send([self.member.publish(topic, payload, .trackable(id, publication))]))
            case .clear(let topic): actions.append(.send(self.member.clear(topic)))
            case .withdraw: actions.append(self.withdraw(id))
            case .announceSoon: self.announceSoon(id, at: moment)
            case .cancelAnnouncement: self.member.cancelAnnouncement(on: id)
            case .subscribe: actions.append(self.subscribe(self.configuration.filters(of: id), .adding(id)))
            case .subscribeToCommands: actions += self.subscribeToCommands(of: [id])
            case .subscribeToJourney: actions.append(self.subscribeToJourney(of: id))
            case .unsubscribeFromJourney: actions.append(self.unsubscribeFromJourney(of: id))
            case .ignoreAnswers(let publication):
                self.member.withdrawRequests { $0 == .trackable(id, publication) }
            case .log(let action): actions.append(.log(id, action))
            case .action(let action): actions.append(action)
            case .updateSensorResolution: actions += self.updateSensorResolution()
            case .release: self.hold.release()
            case .acknowledged(let count):
                self.sending.acknowledged(batch: count, of: id, at: moment.wall)
            case .safe(let stream, let seqs): self.sending.areSafe(seqs, of: stream)
            case .leaseEnded: actions += self.remove(id, at: moment)
            }
        }
        return actions
    }

    // MARK: - Source

    /// Handles a fix that the source delivered, and records it if the publisher is switched on. A fix with a time that
    /// the protocol cannot encode is rejected, because no reader would accept it.
    private mutating func received(_ fix: Location, raw: Location, device: Moment, at moment: Moment) -> [Action] {
        guard WireLimits.allows(fix.time) else {
            let error = TrackingError(
                .invalidPayload,
                "cannot record a fix of the time \(fix.time.seconds): a time must be Unix time in seconds, until the year 5138. Divide milliseconds by 1,000."
            )
            return [.fixRefused(error)]
        }
        self.device.moved(fix, wall: device.wall)
        let (accepted, refusal) = fix.withoutRefusedMembers
        let raw = WireLimits.allows(raw.time) ? raw.withoutRefusedMembers.fix : nil
        let refused: [Action] = refusal.map { [.extraLeftOut($0)] } ?? []
        return self.configuration.isOn ? refused + self.captured(accepted, raw: raw, at: moment) : refused
    }

    /// Applies the settings of the capture to a fix of the source, and records the fix for every tracked trackable.
    private mutating func captured(_ fix: Location, raw: Location?, at moment: Moment) -> [Action] {
        let maximumRadius = self.capture?.filter.maximumAccuracyRadius
        let counts = self.changeWatch.received(fix, maximumRadius: maximumRadius, now: moment.now)
        let steering = self.configuration.changeWatchAccuracy != nil ? self.updateSensorResolution() : []
        return counts ? steering + self.recorded(fix, raw: raw, at: moment) : steering
    }

    private mutating func recorded(_ fix: Location, raw: Location?, at moment: Moment) -> [Action] {
        let fix = self.device.withBattery(fix)
        let (thinning, requested) = (self.thinning, self.table.requested)
        self.capture?.filter.resolution = thinning
        self.capture?.filter.requested = requested
        guard let outcome = self.capture?.moved(fix, at: moment) else {
            self.hold.recorded(fix, now: moment.now)
            self.changeAll { $0.position.moved(to: fix) }
            return self.withAll(at: moment) { $0.captured(fix, shown: fix, raw: raw, $1) } + self.endReports()
        }
        self.changeAll { $0.position.examined(outcome) }
        // The clock may be set by the fix.
        let trusted = self.trusted(moment)
        if let point = outcome.point { self.hold.recorded(point, now: trusted.now) }
        let actions = self.recordEvents(outcome.happenings, at: trusted)
        guard let shown = outcome.shown else {
            // A prediction would show the way into a privacy zone.
            self.changeAll { $0.prediction.stop() }
            return actions
        }
        let visible = self.capture?.isPaused == true ? nil : raw.flatMap { self.capture?.zones.hidden($0) }
        // A fix that a caller waits for is recorded whatever the filter decides.
        let point = outcome.point ?? (self.fixRequests.isEmpty ? nil : shown)
        let captured = self.withAll(at: trusted) { $0.captured(point, shown: shown, raw: visible, $1) }
        // A trackable that stays at a place is not predicted elsewhere.
        if self.capture?.isPaused == true { self.changeAll { $0.prediction.stop() } }
        return actions + captured + self.endReports()
    }

    /// Records, for every tracked trackable, each event that the capture rules found in the fixes, such as the
    /// beginning of a pause. A pause may also change the resolution that the receiver must measure.
    mutating func recordEvents(_ happenings: [Happening], at moment: Moment) -> [Action] {
        guard !happenings.isEmpty else { return [] }
        self.hold.release()
        let actions = happenings.flatMap { happening in
            self.withAll(at: moment) { $0.recordEvent(happening.kind, happening.detail, $1) }
        }
        return actions + self.updateSensorResolution()
    }

    /// Returns the moment with the best known wall-clock time if the device's clock is not set. Otherwise, returns the
    /// moment unchanged.
    private func trusted(_ moment: Moment) -> Moment { self.capture?.trusted(moment) ?? moment }

    // MARK: - Steps

    private mutating func timersFired(at moment: Moment) -> [Action] {
        var actions = self.handle(self.member.timerFired(now: moment.now), at: moment)
        if let deadline = self.pauseDeadline, deadline <= moment.now {
            actions += self.recordEvents(self.capture?.timerFired(now: moment.now) ?? [], at: moment)
        }
        actions += self.waitingRequestsDue(at: moment)
        if self.changeWatch.advance(isOn: self.watchesChanges, now: moment.now) {
            actions += self.updateSensorResolution()
        }
        for timer in self.timers.popExpired(now: moment.now) {
            switch timer {
            case .trackable(let id): actions += self.with(id, at: moment) { $0.timerFired($1) }
            case .report: actions += self.endReports(FixRequests.timedOut)
            case .leave: actions += self.leave()
            }
        }
        return actions
    }

    /// Publishes the due messages of the trackables that changed, and schedules the next deadline of each.
    private mutating func progress(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        let concerned = self.table.concerned(by: self.conditions, isDeferring: self.hold.isDeferring)
        for id in concerned.tracked { actions += self.with(id, at: moment) { $0.advance($1) } }
        for id in concerned.tracked where self.table.unsentEvents > 0 {
            actions += self.with(id, at: moment) { $0.publishEvents($1) }
        }
        if self.configuration.sendsByItself { actions += self.publishDepartures(of: concerned.dormant, at: moment) }
        actions += self.leaveIfDone(at: moment)
        let context = self.context(at: moment)
        for id in self.table.takeTouched() {
            self.timers.keep(.trackable(id), at: self.table.nextDeadline(of: id, context))
        }
        return actions
    }

    private var conditions: TrackableTable.Conditions {
        TrackableTable.Conditions(
            isOn: self.configuration.isOn, isAnnounced: self.member.session.isAnnounced,
            isAlive: self.member.session.isLivenessConfirmed, sendsByItself: self.configuration.sendsByItself,
            isHolding: self.isHolding)
    }

    // MARK: - Stopping

    private mutating func stop(by deadline: MonotonicTime?, at moment: Moment) -> [Action] {
        let events = self.stop == nil ? self.recordLifecycle(.stopping, of: self.table.tracked, at: moment) : []
        self.hold.release()
        self.stop = .finishing(by: deadline)
        self.timers.keep(.leave, at: deadline)
        // A rejected trackable is tried once more, now; when it is rejected again, it is given up.
        let context = self.context(at: moment)
        self.changeAll { $0.stop(context) }
        let actions = self.withAll(at: moment) { $0.retry($1) }
        self.link.stopped()
        return events + actions + self.tryNow()
    }

    private mutating func leaveIfDone(at moment: Moment) -> [Action] {
        guard case .finishing = self.stop else { return [] }
        // Records that the live lane does not bring are sent after it.
        let actions =
            self.readiness.isReadyForFix && !self.readiness.areRecordsOut
            ? self.sendRecords(all: true, at: moment) : []
        return actions + (self.readiness.isReadyToLeave ? self.leave() : [])
    }

    /// Clears the trackables' presences, publishes the orderly goodbye, and closes the connection.
    private mutating func leave() -> [Action] {
        guard self.stop != .closing else { return [] }
        // The goodbye gets one more second after a time limit.
        let patience: Duration = if case .finishing(by: .some) = self.stop { .seconds(1) } else { .seconds(5) }
        var actions = self.readiness.givenUp.map { Action.givenUp($0.id, $0.reason) }
        self.stop = .closing
        if self.member.session.isAnnounced {
            let own = self.table.all.filter { $0.failure == nil && $0.status.since != nil }.map(\.id)
            for id in own { actions.append(self.withdraw(id)) }
            if self.configuration.isOn { actions.append(self.publishGoodbye()) }
        }
        return actions + [.send([.close(within: patience)])]
    }
}
