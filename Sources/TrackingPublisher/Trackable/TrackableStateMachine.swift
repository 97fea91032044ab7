import TrackingCore

/// Decides for one trackable: its announcement, updates, records, trips, events and resolution.
///
/// The trackable knows no connection and no caller. Every method takes the state of the publisher as a
/// ``TrackableContext``, and returns outputs that ``PublisherStateMachine`` carries out. While the trackable is not
/// tracked, ``DormantTrackable`` takes its place. This file has the announcement and the live lane; `+Records` has the
/// log and the broker's answers, `+Capture` has fixes, events and trips, and `+Resolution` has requests and conditions.
struct TrackableStateMachine: Sendable {
    /// The trackable's name and settings, as the caller gave them.
    @Boxed var trackable: Trackable
    /// The status of publishing: announced, rejected or failed, and the state that the caller received last.
    @Boxed var status = PublishingStatus()
    /// The numbers of the trackable's records in the log, and the records that are not acknowledged yet.
    @Boxed var backlog: TrackableBacklog
    /// The updates with the trackable's newest positions, filtered and raw.
    @Boxed var live: LiveOutput
    /// The trips of the trackable, and the version of a trip that is published next.
    @Boxed var trips: TrackableTrips
    /// The resolution of the trackable, and the requests and conditions on which it depends.
    @Boxed var resolution: TrackableResolution
    /// The subscribers' requests for a resolution of the trackable.
    @Boxed var requests = ResolutionRequests()
    /// The last recorded position of the trackable, and the positions for its events.
    @Boxed var position = LastPosition()
    /// The named values of the trackable that the log stores beside its records.
    @Boxed var stored: StoredValues
    /// The decision to publish the destination as a journey.
    var destination = DestinationPublishing()
    /// The events of the trackable that were not published yet.
    var unsent = UnsentEvents()
    /// The predictions of positions while the source has no fix.
    @Boxed var prediction = PositionPrediction()
    /// The origin of the trackable's records: this device, or another system.
    var feed = Feed.device
    /// The permissions that the broker refuses and that the trackable can do without.
    var optionalGrants = OptionalGrantRefusals()
    /// The detection of a low battery, which is reported as an event of the trackable.
    var lowBattery: LowBatteryReport
    /// `true` if records were released from the delay of sending, but wait until the newest position is published.
    var owesRecords = false
    /// The generator of random numbers for the ids of events and streams, and for the delay of announcements.
    var random: SplitMix64

    /// Starts to track a trackable.
    ///
    /// - Parameters:
    ///   - dormant: The stored state of the trackable, from the log.
    ///   - battery: The charge of the battery in percent; `nil` if it is unknown.
    ///   - seed: The seed of random ids and moments.
    init(
        _ trackable: Trackable, resuming dormant: DormantTrackable, policy: any ResolutionPolicy, battery: Double?,
        seed: UInt64, _ context: TrackableContext
    ) {
        var random = SplitMix64(seed: seed)
        let configuration = context.configuration
        let resolution = TrackableResolution(of: trackable, policy: policy, battery: battery, context)
        self.trackable = trackable
        self.resolution = resolution
        self.backlog = TrackableBacklog(dormant.log, context, using: &random)
        self.trips = TrackableTrips(
            configuration.trips, stored: dormant.stored.trip, seed: random.next(), at: context.moment)
        self.live = LiveOutput(of: trackable, resolution, rawStream: .random(using: &random), configuration)
        self.stored = dormant.stored
        self.lowBattery = LowBatteryReport(
            of: trackable, default: configuration.lowBattery, stored: dormant.stored.lowBattery)
        self.random = random
        self.status.reported.reason = context.connectionRejection?.code
    }

    /// The name of the trackable for which this state machine decides.
    var id: TrackableID { self.trackable.id }

    /// The reason why no positions of the trackable are published any more; `nil` while it has not failed.
    var failure: TrackingError? { self.status.failure }

    /// `true` if no record is being written to the log, no update is in flight, and no fix waits to be published. If
    /// the trackable has failed, only the records count.
    var isIdle: Bool { self.backlog.isWritten && (self.failure != nil || self.live.isIdle) }

    /// `true` if the trackable is idle (see ``isIdle``), and the broker has acknowledged all its records in the log.
    var isSent: Bool { self.isIdle && self.backlog.spool.unsent == 0 }

    /// The reason for a failure or rejection of the trackable or its records; `nil` if there is none.
    var refusal: TrackingError? { self.failure ?? self.status.rejection?.error ?? self.backlog.spool.refusal }

    // MARK: - Connection

    /// Handles a new connection. From now on, the publisher waits for each known resolution request to arrive again. A
    /// request that has not arrived after the publisher's lease is dropped.
    mutating func connected(_ context: TrackableContext) -> [Output] {
        self.requests.expectAgain(by: context.now.advanced(by: context.session.lease))
        return self.situationChanged(context)
    }

    /// Handles that the connection was lost. Updates and batches that the broker has not answered count as not sent.
    mutating func connectionLost(_ context: TrackableContext) -> [Output] {
        let outputs = self.closeRecords(context)
        self.optionalGrants = OptionalGrantRefusals()
        self.requests.connectionLost()
        self.withdrawn()
        return outputs + self.situationChanged(context)
    }

    /// Handles that the caller switched the publisher off: sending stops, and the trackable's presence is cleared.
    mutating func switchedOff(_ context: TrackableContext) -> [Output] {
        self.prediction.stop()
        let outputs = self.closeRecords(isOrderly: true, context) + [.cancelAnnouncement]
        guard self.failure == nil, self.status.since != nil else { return outputs }
        self.withdrawn()
        self.status.since = nil
        return outputs + [.withdraw]
    }

    private mutating func withdrawn() {
        self.status.connectionLost()
        self.resolution.connectionLost()
        self.destination.connectionLost()
        self.live.connectionLost()
        // A remote source never republishes a position that was cleared while it was disconnected.
        if self.feed.isRemote { self.live.lane.forgetTaken() }
    }

    /// Marks the trackable as failed for good and reports the failure, for example because another program uses this
    /// client id.
    mutating func failed(_ error: TrackingError, _ context: TrackableContext) -> [Output] {
        self.status.failed(error)
        return self.reportState(reason: error, context)
    }

    /// Handles a rejection of the trackable by the broker. A retry follows, unless its name can never be accepted.
    mutating func rejected(_ error: TrackingError, _ context: TrackableContext) -> [Output] {
        if error.isNameRefusal { return self.failed(error, context) }
        self.status.rejected(error, now: context.now)
        return self.reportState(reason: error, context)
    }

    /// Begins the next attempt to publish a rejected trackable: subscribes to its topics again.
    mutating func retry(_ context: TrackableContext) -> [Output] {
        // Without a connection, the next one tries it.
        guard self.status.retry(), context.isAnnounced else { return [] }
        return [.subscribe] + self.reportState(reason: nil, context)
    }

    // MARK: - Ownership

    /// Begins to publish the trackable on this connection, after the presence messages of the other publishers
    /// (`others`) were received.
    ///
    /// Claims the trackable if this publisher has no claim yet, and announces it. Does nothing if the trackable failed
    /// or is rejected, or while the publisher is switched off.
    mutating func enter(_ others: OtherPublishers, _ context: TrackableContext) -> [Output] {
        guard self.failure == nil, self.status.rejection == nil, context.isOn else { return [] }
        if self.status.since == nil {
            self.status.claim(after: others, now: context.moment.wall)
            // No publisher that is present is later; with one that claims the latest possible time it may be a tie.
            let superseded = others.owner.map { self.compareOwner($0, context) } ?? []
            guard superseded.isEmpty else { return superseded }
        }
        self.status.announced()
        // An earlier run, or another publisher, may have published a resolution.
        let isHidden = !context.configuration.sendsResolution
        // After an outage the newest position is published at once.
        return [.release] + self.announce(context) + (isHidden ? [.clear(.resolution(self.id))] : [])
    }

    /// Compares this publisher's claim with another publisher's. If the other claim is later, this publisher gives up
    /// the trackable.
    ///
    /// Then a collision event is recorded. The greater session id decides between claims of the same time.
    ///
    /// - Returns: Nothing if this publisher remains the owner.
    mutating func compareOwner(_ other: Member, _ context: TrackableContext) -> [Output] {
        guard self.failure == nil, self.status.isBehind(other.presence, context.session.session) else { return [] }
        let error = TrackingError(
            .takenOver,
            "cannot track '\(self.id)': the publisher '\(other.client)' took it over. Stop tracking it with one of the two publishers."
        )
        let detail: [String: TrackingEvent.DetailValue] = ["client": .text(other.client.rawValue)]
        var outputs = self.recordEvent(.collision, detail, context)
        outputs.append(.clear(.publisher(self.id, context.session.client)))
        self.status.failed(error)
        outputs += self.sendTakenEarly(context)
        if context.configuration.onCollision == .clear { outputs += self.clearRecords(context) }
        return outputs + self.reportState(reason: error, context)
    }

    /// Announces the trackable on this connection: publishes its presence, the resolution in force and the last update.
    /// A trip in progress then waits to be published again.
    mutating func announce(_ context: TrackableContext) -> [Output] {
        guard let since = self.status.since, self.failure == nil else { return [] }
        var outputs = [self.presence(since: since, context)]
        self.resolution.publishAgain()
        self.backlog.spool.publishingAllowed()
        self.trips.publishAgain(at: context.moment)
        // The state first: no resolution is published that names an old one.
        outputs += self.reportState(reason: nil, context)
        outputs += self.publishResolution(context)
        // A newer position that waits is published without this.
        if context.sendsByItself, let update = self.live.lane.again(now: context.now) {
            outputs += self.publish(update, context)
        }
        return outputs
    }

    /// Publishes the presence again because its content changed, if the trackable is announced on this connection.
    func publishPresence(_ context: TrackableContext) -> [Output] {
        guard context.isAnnounced, self.status.isSending, let since = self.status.since else { return [] }
        return [self.presence(since: since, context)]
    }

    private func presence(since: UnixTime, _ context: TrackableContext) -> Output {
        var presence = context.session.presence(.publisher, since: since)
        presence.stream = self.backlog.stream
        presence.rawLocations = self.live.raw != nil
        presence.metadata = self.trackable.metadata
        presence.sendsResolution = context.configuration.sendsResolution ? nil : false
        return .publish(.publisher(self.id, context.session.client), MessageCodec.encode(presence), .presence)
    }

    /// Handles that the broker delivered this publisher's own presence message, which proves that the broker handles
    /// the trackable's messages.
    ///
    /// Records in updates that the broker had acknowledged before this proof count as acknowledged only from now on.
    mutating func presenceReceived(_ context: TrackableContext) -> [Output] {
        self.status.presenceReceived()
        let seqs = self.backlog.removeTakenEarly()
        let outputs = seqs.isEmpty ? [] : self.askSpool(context) { $0.takenLive(seqs, now: context.now) }
        return outputs + self.reportState(reason: nil, context)
    }

    /// Lets the records of acknowledged updates be sent again in batches, because the trackable failed before the
    /// broker delivered this publisher's own presence message.
    mutating func sendTakenEarly(_ context: TrackableContext) -> [Output] {
        let seqs = self.backlog.removeTakenEarly()
        return seqs.isEmpty ? [] : self.askSpool(context) { $0.failedLive(seqs, now: context.now) }
    }

    /// Delivers the trackable's state to the caller if the state or its reason is new.
    mutating func reportState(reason: TrackingError?, _ context: TrackableContext) -> [Output] {
        let isConnected = !context.session.isOffline && context.isOn
        let state = self.status.state(isConnected: isConnected, isAlive: context.isAlive)
        let report = self.status.report(
            state, reason: reason, isConnectionRejected: context.connectionRejection != nil)
        guard let report else { return [] }
        return [.action(.stateChanged(self.id, report.state, report.reason))] + self.publishResolution(context)
    }

    // MARK: - Live lane

    /// Publishes what may be published for the trackable now: first the newest position, then the trip and batches of
    /// records.
    mutating func advance(_ context: TrackableContext) -> [Output] {
        var outputs = self.publishNext(context)
        if context.sendsByItself { outputs += self.publishTrip(context) }
        outputs += self.publishDestination(context)
        return outputs + self.openRecords(context) + self.holdRecords(context)
    }

    /// Publishes the next filtered position and the next raw position, if they may be published now.
    mutating func publishNext(_ context: TrackableContext) -> [Output] {
        guard context.isAnnounced, self.status.isSending, self.isOpenForUpdates(context) else { return [] }
        var outputs: [Output] = []
        if let update = self.live.lane.next(written: self.backlog.written, now: context.now) {
            self.live.owesUpdate = false
            outputs += self.publish(update, context)
        }
        if let update = self.live.nextRaw(now: context.now), let payload = try? LocationCodec.encodeRaw(update) {
            outputs.append(.publish(.raw(self.id), payload, .raw))
        }
        return outputs
    }

    /// Returns `true` if positions may be published: sending is automatic, and not delayed until the device has moved.
    ///
    /// During such a delay, only the first position, or a position that was released from the delay, may be published.
    private func isOpenForUpdates(_ context: TrackableContext) -> Bool {
        context.sendsByItself && (!context.isHolding || self.live.owesUpdate || self.live.lane.last == nil)
    }

    private mutating func publish(_ update: LocationUpdate, _ context: TrackableContext) -> [Output] {
        do throws(TrackingError) {
            var leftOut = 0
            let payload = try LocationCodec.encode(context.counted(update), leftOut: &leftOut)
            self.live.lane.leftOut(leftOut)
            self.prediction.isPublished = false
            let seqs = self.live.lane.seqsInFlight
            if self.feed.countsLive(context.configuration.recording) { self.backlog.spool.sentLive(seqs) }
            return [.publish(.location(self.id), payload, .update)] + self.publishApproach(context)
        } catch {
            // Only a single point above the limit, which can never be published.
            self.live.lane.acknowledged()
            return [.action(.badMessage(topic: context.path(.location(self.id)), error))]
        }
    }

    /// Replaces the retained position that the privacy zones now hide by the last update as the zones allow it. If they
    /// allow none, the retained position is cleared.
    private mutating func replacePosition(_ context: TrackableContext) -> [Output] {
        guard self.live.lane.last != nil else { return [.clear(.location(self.id))] }
        guard context.isAnnounced, self.status.isSending, let update = self.live.lane.replaced(now: context.now)
        else { return [] }
        return self.publish(update, context)
    }

    /// Applies changed privacy zones to all remembered positions, and replaces or clears the retained messages.
    ///
    /// - Parameters:
    ///   - areMore: `true` if the zones hide more than before. Retained messages of an earlier run are then cleared,
    ///     because their positions are not known here.
    ///   - others: The other publishers. Retained messages of another owner are not touched.
    mutating func hide(areMore: Bool, _ others: OtherPublishers, _ context: TrackableContext) -> [Output] {
        self.prediction.stop()
        self.unsent.hide(context.shown)
        self.position.hide(context.shown)
        let isOwn = self.failure == nil && (self.status.since != nil || others.owner == nil)
        let lost = self.live.lane.seqsInFlight
        let isUnknown = areMore && self.live.lane.last == nil
        let change = self.live.hide(context.shown)
        var outputs: [Output] = change.raw?.isTakenBack == true ? [.ignoreAnswers(.raw)] : []
        if change.lane.isTakenBack {
            outputs.append(.ignoreAnswers(.update))
            outputs += self.askSpool(context) { $0.failedLive(lost, now: context.now) }
        }
        guard isOwn else { return outputs }
        if change.lane.isOutdated || isUnknown || self.prediction.isPublished {
            outputs += self.status.since == nil ? [.clear(.location(self.id))] : self.replacePosition(context)
        }
        // The zones may hide the destination, or not any more.
        return outputs + self.hideTrip(areMore: areMore, context) + self.publishApproach(context)
    }

    /// Handles the broker's answer to a published message of this kind.
    mutating func answered(
        _ publication: Publication, _ refusal: TrackingError?, _ context: TrackableContext
    ) -> [Output] {
        switch publication {
        case .update: return self.updateAnswered(refusal, context)
        case .history: return self.batchAnswered(refusal, context)
        case .raw:
            // A refused raw lane is no reason to hold back the position itself.
            self.live.rawAnswered()
            return []
        case .presence: return refusal.map { self.rejected($0, context) } ?? []
        case .resolution:
            self.resolution.answered()
            return self.grantAnswered(.resolution, refusal, context) + self.publishResolution(context)
        case .journey: return self.journeyAnswered(refusal, context)
        case .departure, .other: return []
        }
    }

    /// Handles that no more fixes will come, because the publisher stops: the last fix waits to be published, even if
    /// the update filter skipped it.
    mutating func stop(_ context: TrackableContext) {
        self.prediction.stop()
        self.live.finish(wallClock: context.believedTime)
    }

    // MARK: - Time

    /// Handles every deadline of the trackable that has passed, such as that of a retry or of the end of a trip. The
    /// earliest deadline is handled first.
    mutating func timerFired(_ context: TrackableContext) -> [Output] {
        let due = Timer.allCases.compactMap { timer in
            self.deadline(of: timer, context).flatMap { $0 <= context.now ? (timer: timer, deadline: $0) : nil }
        }
        return due.sorted { $0.deadline < $1.deadline }.flatMap { self.fire($0.timer, context) }
    }

    private mutating func fire(_ timer: Timer, _ context: TrackableContext) -> [Output] {
        switch timer {
        case .silence: return self.silenceEnded(context)
        case .retry: return self.retry(context)
        case .optionalGrants: return self.retryOptionalGrants(context)
        case .spool: return self.askSpool(context) { $0.timerFired(now: context.now) }
        case .trip: return self.tripTimerFired(context)
        case .resolution: return self.resolutionPauseEnded(context)
        case .requests:
            return self.requests.takeUnconfirmed().flatMap { self.dropRequests(of: $0, context) }
        case .lease: return self.leaseEnded(context)
        case .intake: return self.intakeExpired(context)
        case .prediction: return self.predict(context)
        }
    }

    private mutating func silenceEnded(_ context: TrackableContext) -> [Output] {
        guard context.isAnnounced, self.status.isSending else { return [] }
        guard !context.isHolding else { return [.release] }
        self.live.lane.endSilence(now: context.now, wallClock: context.believedTime)
        guard let update = self.live.lane.again(now: context.now) else { return [] }
        return self.publish(update, context)
    }
}
