import TrackingCore

/// Fixes and conditions of one trackable: captured points, trips, events, and the resolution.
extension TrackableStateMachine {
    // MARK: - Fixes

    /// The capture examined a fix: the place of events moves.
    mutating func examined(_ outcome: CaptureStateMachine.Outcome) { self.position.places.saw(outcome) }

    /// A fix was captured without examination: the place of events moves.
    mutating func moved(to fix: Location) { self.position.places.moved(to: fix) }

    /// A fix was captured.
    ///
    /// - Parameters:
    ///   - point: The fix to record; `nil` where none is.
    ///   - shown: The position as far as privacy zones let it be published.
    ///   - raw: The position for the raw lane; `nil` where none may be published.
    mutating func captured(
        _ point: Location?, shown: Location, raw: Location?, _ context: TrackableContext
    ) -> [Output] {
        // Another publisher records a failed trackable now, or nobody can.
        guard self.failure == nil else { return [] }
        let change = self.trips.machine.moved(shown, at: context.moment, next: self.backlog.nextName)
        var outputs = self.tripChanged(change, context)
        let wall = context.believedTime
        // At every fix, recorded or not.
        if let near = self.resolution.proximity.moved(shown, now: context.now, wallClock: wall) {
            outputs += self.reconsider([.nearChanged(near)], context)
        }
        if let raw { self.live.capturedRaw(raw, now: context.now, wallClock: wall) }
        guard let point else { return outputs }
        let location = self.named(point)
        let payload = LocationCodec.encodeFeature(location, inheriting: location.stream)
        outputs.append(
            self.append(
                SpoolRecord(
                    seq: self.backlog.lastSeq, time: location.time, kind: .point, tripID: location.tripID,
                    payload: payload)))
        outputs += self.travelled(to: location, context)
        self.position.fix = location
        self.position.places.recorded(location)
        guard context.sendsLive else { return outputs + [.action(.captured(self.id, location, .notLive))] }
        let verdict = self.live.lane.captured(
            location, isAsked: context.isFixRequested, now: context.now, wallClock: wall)
        return outputs + [.action(.captured(self.id, location, verdict))]
    }

    /// Gives a fix the next name of the stream, and the id of the trip under way.
    private mutating func named(_ fix: Location) -> Location {
        var location = fix
        location.seq = self.backlog.nextSeq()
        location.stream = self.backlog.stream
        location.tripID = self.trips.machine.current?.id ?? location.tripID
        return location
    }

    /// The device's wall clock was set: times before and after cannot be compared.
    mutating func clockStepped(by step: Duration, _ context: TrackableContext) -> [Output] {
        self.trips.machine.clockStepped()
        self.live.clockStepped()
        self.resolution.proximity.clockStepped()
        return self.recordEvent(.clockJump, ["seconds": .number(step.inSeconds)], context)
    }

    /// Suppresses positions up to and including `watermark`, after the retained position was cleared.
    mutating func forgetPosition(through watermark: Location?) {
        self.live.forget(through: watermark)
        self.trips.last = nil
        self.position.forget(through: watermark)
    }

    /// Somebody cleared the retained position: a remote source does not publish it again.
    mutating func positionCleared() {
        guard self.feed.isRemote, let last = self.live.lane.last?.location else { return }
        self.forgetPosition(through: last)
    }

    // MARK: - Battery

    /// The battery was read.
    ///
    /// - Parameter percent: The charge, 0…100; `nil` is unknown.
    mutating func batteryRead(_ percent: Double?, _ context: TrackableContext) -> [Output] {
        self.reportLowBattery(percent, context) + self.reconsider([.batteryRead(percent: percent)], context)
    }

    /// Records an event where the charge sank below the threshold.
    mutating func reportLowBattery(_ percent: Double?, _ context: TrackableContext) -> [Output] {
        guard let percent else { return [] }
        let (isCrossing, isChanged) = self.lowBattery.read(percent)
        // It goes into the log with its event.
        let outputs: [Output] =
            isChanged ? [.log(.keep(StoredValues.Key.lowBattery.of(self.id), self.lowBattery.stored))] : []
        guard isCrossing else { return outputs }
        let detail = ["percent": TrackingEvent.DetailValue.number(LowBatteryDetector.rounded(percent))]
        return outputs + self.recordEvent(.lowBattery, detail, context)
    }

    // MARK: - Settings

    /// The caller changed destination, constraints or filter.
    mutating func change(_ trackable: Trackable, battery: Double?, _ context: TrackableContext) -> [Output] {
        self.trackable = trackable
        self.live.trackableChanged(trackable)
        let near = [
            self.resolution.proximity.destinationChanged(trackable.destination),
            self.resolution.proximity.thresholdChanged(trackable.constraints?.proximityThreshold),
        ].compactMap { $0 }
        self.lowBattery.use(trackable, default: context.configuration.lowBattery)
        let changes: [ConditionChange] =
            [.constraintsChanged(trackable.constraints)] + self.limits(context) + near.map { .nearChanged($0) }
        return self.reportLowBattery(battery, context) + self.reconsider(changes, context)
    }

    /// The caller changed the publisher's configuration.
    mutating func configure(
        from old: PublisherConfiguration, battery: Double?, _ context: TrackableContext
    ) -> [Output] {
        let new = context.configuration
        if new.trips != old.trips { self.trips.machine.configure(new.trips) }
        if new.deferral != old.deferral { self.live.deferralChanged(new) }
        var outputs: [Output] = []
        if new.lowBattery != old.lowBattery {
            self.lowBattery.use(self.trackable, default: new.lowBattery)
            outputs += self.reportLowBattery(battery, context)
        }
        if new.recording != old.recording {
            outputs += self.askSpool(context) { $0.configure(new.recording, now: context.now) }
        }
        if new.sendsRawLocations != old.sendsRawLocations {
            self.live.publishRaw(new.sendsRawLocations)
            if context.isAnnounced, self.status.isSending { outputs += self.announce(context) }
        }
        return outputs
            + self.reconsider([.defaultChanged(new.defaultResolution)] + self.limits(context), context)
    }

    private func limits(_ context: TrackableContext) -> [ConditionChange] {
        [
            .floorChanged(self.trackable.floor ?? context.configuration.floor),
            .ceilingChanged(self.trackable.ceiling ?? context.configuration.ceiling),
        ]
    }

    // MARK: - Events

    /// Records an event. It is published as soon as it is in the log and there is a connection.
    mutating func recordEvent(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:], _ context: TrackableContext
    ) -> [Output] {
        let event = self.event(kind, detail, context)
        self.publishLater(event, context)
        return [.action(.eventRecorded(self.id, event)), self.append(event.record)]
    }

    /// Records the answer to a command, and publishes it at once where there is a connection.
    mutating func recordAnswer(_ detail: [String: JSONValue], _ context: TrackableContext) -> [Output] {
        guard context.isAnnounced else { return self.recordEvent(.command, detail, context) }
        let event = self.event(.command, detail, context)
        return [.publish(.event(self.id), MessageCodec.encode(event), .other), self.append(event.record)]
    }

    /// An event with the next number of the stream, and the best time that is known.
    private mutating func event(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue], _ context: TrackableContext
    ) -> TrackingEvent {
        let seq = self.backlog.nextSeq()
        let stamp = context.stamp
        // An event has a place only if positions are published live.
        let place = context.sendsLive ? self.position.places.place(of: kind) : nil
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: self.backlog.stream, seq: seq,
            time: stamp?.time ?? context.moment.wall, kind: kind,
            detail: (stamp?.detail ?? [:]).merging(detail) { $1 },
            location: place.flatMap(context.published(placeOf:)))
    }

    /// Stores an event until it is published. Above the limit, the oldest event is not published.
    mutating func publishLater(_ event: TrackingEvent, _ context: TrackableContext) {
        self.unsent.add(
            event, most: self.feed.isRemote ? UnsentEvents.mostRemote : UnsentEvents.mostOwn,
            total: context.unsentEvents)
    }

    /// Publishes the events that are in the log, as far as they may be published now.
    mutating func publishEvents(_ context: TrackableContext) -> [Output] {
        // The event that made the trackable fail is published as well.
        guard !self.unsent.isEmpty, context.isAnnounced, context.isOn, self.status.isSending || self.failure != nil
        else { return [] }
        let (sendsByItself, backlog) = (context.sendsByItself, self.backlog)
        let events = self.unsent.take { event, isRequested in
            // The answer to a command was requested.
            (sendsByItself || isRequested || event.kind == .command) && backlog.mayPublish(event.stream, event.seq)
        }
        return events.map { .publish(.event(self.id), MessageCodec.encode($0), .other) }
    }

    // MARK: - Trips

    /// The user begins a trip in `mode`, or ends the trip where `mode` is `nil`.
    mutating func trip(_ mode: TripMode?, _ request: UInt64, _ context: TrackableContext) -> [Output] {
        if let failure = self.failure { return [.action(.answered(request: request, .failure(failure)))] }
        do throws(TrackingError) {
            let change = try self.trips.change(to: mode, at: context.moment, next: self.backlog.nextName)
            return self.tripChanged(change, context)
                + [.action(.answered(request: request, .success(.trip(change.trip))))]
        } catch {
            return [.action(.answered(request: request, .failure(error)))]
        }
    }

    /// Records a version of a trip, in the transaction of the record before it.
    mutating func tripChanged(_ change: TripStateMachine.Change?, _ context: TrackableContext) -> [Output] {
        guard let change else { return [] }
        let seq = self.backlog.nextSeq()
        let trip = context.shown(change.trip)
        let record = SpoolRecord(
            seq: seq, time: trip.end ?? context.moment.wall, kind: .trip, tripID: trip.id,
            payload: MessageCodec.encode(trip))
        self.trips.unpublished = trip
        if trip.state == .ended { self.trips.last = trip }
        var outputs = [self.append(record), self.storeTrip(context), .action(.tripChanged(self.id, trip))]
        if let happening = change.happening {
            outputs.append(.release)
            outputs += self.recordEvent(happening.kind, happening.detail, context)
        }
        return outputs
    }

    /// Stores the trip with each of its points, so that it goes on after a restart.
    private func storeTrip(_ context: TrackableContext) -> Output {
        .log(.keep(StoredValues.Key.trip.of(self.id), self.trips.machine.encoded(at: context.moment)))
    }

    /// A point of a trip was recorded.
    private mutating func travelled(to point: Location, _ context: TrackableContext) -> [Output] {
        guard self.trips.machine.current != nil else { return [] }
        let change = self.trips.machine.recorded(point, at: context.moment, next: self.backlog.nextName)
        return change == nil ? [self.storeTrip(context)] : self.tripChanged(change, context)
    }

    /// Publishes the newest version of a trip once it is in the log. A trip has positions, so it is published only
    /// where those are published live.
    mutating func publishTrip(_ context: TrackableContext) -> [Output] {
        guard context.sendsLive, context.isAnnounced, self.status.isSending, let trip = self.trips.unpublished,
            self.backlog.mayPublish(trip.stream, trip.seq)
        else { return [] }
        let shown = context.shown(trip)
        self.trips.unpublished = nil
        self.trips.published = shown
        return [.publish(.trip(self.id), MessageCodec.encode(shown), .other)]
    }

    /// The trip ends, or a version of it is due, without a fix.
    mutating func tripTimerFired(_ context: TrackableContext) -> [Output] {
        let change = self.trips.machine.timerFired(at: context.moment, next: self.backlog.nextName)
        return self.failure == nil ? self.tripChanged(change, context) : []
    }

    /// Replaces the retained trip where the privacy zones hide more of it, or clears it.
    ///
    /// - Parameter areMore: `true` where more is hidden than before.
    mutating func hideTrip(areMore: Bool, _ context: TrackableContext) -> [Output] {
        guard let trip = self.trips.newest(at: context.moment) else {
            return areMore ? [.clear(.trip(self.id))] : []
        }
        let shown = context.shown(trip)
        // The retained version is up to a minute old, or of an earlier run.
        let isOutdated = self.trips.published.map { context.shown($0) != $0 } ?? areMore
        guard isOutdated || shown != trip else { return [] }
        if self.trips.last == trip { self.trips.last = shown }
        let isPending = self.trips.unpublished != nil
        self.trips.unpublished = self.trips.unpublished ?? trip
        if self.status.since == nil { return [.clear(.trip(self.id))] }
        return isPending ? [] : self.publishTrip(context)
    }

    // MARK: - Resolution

    /// Takes in changes of the conditions that the resolution depends on. A resolution changes in no other way;
    /// together the changes are one change.
    mutating func reconsider(_ changes: [ConditionChange], _ context: TrackableContext) -> [Output] {
        let next = self.resolution.changed(changes, now: context.now)
        self.live.use(ownInterval: self.resolution.funnel.own.desiredInterval)
        if let next { self.live.use(next) }
        return self.publishResolution(context)
    }

    /// Puts a change into force that waited for the end of the pause after the last one.
    mutating func resolutionPauseEnded(_ context: TrackableContext) -> [Output] {
        if let next = self.resolution.pauseEnded(now: context.now) { self.live.use(next) }
        return self.publishResolution(context)
    }

    /// Passes the resolution in force to the source, the broker and the caller, where it differs from the last one.
    mutating func publishResolution(_ context: TrackableContext) -> [Output] {
        guard self.failure == nil else {
            self.resolution.deadline = nil
            return [.updateSensorResolution]
        }
        var outputs: [Output] = [.updateSensorResolution]
        let inForce = self.inForce(context.configuration)
        let isSending = context.isAnnounced && self.status.isSending
        if self.resolution.publishes(inForce, isSending: isSending, now: context.now) {
            outputs.append(.publish(.resolution(self.id), MessageCodec.encode(inForce), .resolution))
        }
        if self.resolution.delivers(inForce) { outputs.append(.action(.resolutionChanged(self.id, inForce))) }
        return outputs
    }

    /// The resolution in force and its reasons, as subscribers receive them.
    func inForce(_ configuration: PublisherConfiguration) -> ResolutionInForce {
        // Subscribers can expect regular updates only if positions are published live, without a request, and
        // repeatedly.
        let isRepeated = configuration.sendsLive && configuration.sendsByItself && self.trackable.isRepeated
        let (funnel, damper) = (self.resolution.funnel, self.resolution.damper)
        return ResolutionInForce(
            resolution: damper.current, isNear: funnel.conditions.isNear, subscribers: funnel.conditions.subscribers,
            isLowBattery: funnel.isLowBattery, state: self.status.reported.state, filter: self.trackable.filter,
            maximumSilence: isRepeated ? self.live.lane.filter.effectiveMaximumSilence : .zero)
    }

    /// The broker answered about an optional grant.
    mutating func grantAnswered(
        _ grant: OptionalGrantRefusals.Grant, _ refusal: TrackingError?, _ context: TrackableContext
    ) -> [Output] {
        let isKnown = self.optionalGrants.grants.contains(grant)
        self.optionalGrants.answered(grant, isRefused: refusal != nil, now: context.now)
        guard let refusal, grant == .commands, !isKnown else { return [] }
        return [.action(.commandsRefused(self.id, refusal))]
    }

    /// Asks again for the optional grants that the broker refused.
    mutating func retryOptionalGrants(_ context: TrackableContext) -> [Output] {
        let grants = self.optionalGrants.retry()
        guard context.session.isConnected else { return [] }
        var outputs: [Output] = grants.contains(.commands) ? [.subscribeToCommands] : []
        // The answer to a publish in flight decides about the next attempt.
        if grants.contains(.resolution), self.resolution.unacknowledged == 0 {
            self.resolution.publishAgain()
            outputs += self.publishResolution(context)
        }
        return outputs
    }

    // MARK: - Subscribers

    /// A subscriber arrived. Its request takes effect with it, where it was received before.
    mutating func arrived(_ subscriber: SubscriberID, _ context: TrackableContext) -> [Output] {
        let request = self.requests.byClient[subscriber.client]?[subscriber.session]
        let made = request.map { [ConditionChange.requestMade(subscriber, $0)] } ?? []
        return [.announceSoon] + self.reconsider([.subscriberCame(subscriber)] + made, context)
    }

    /// A subscriber left.
    mutating func left(_ subscriber: SubscriberID, _ context: TrackableContext) -> [Output] {
        self.requests.left(subscriber)
        return self.reconsider([.subscriberLeft(subscriber)], context)
    }

    /// Puts a request into effect. The request of a subscriber that is not present takes effect when it arrives.
    ///
    /// - Parameter presence: The members of the trackable.
    mutating func requested(
        _ request: ResolutionRequest, by client: ClientID, _ presence: PresenceStateMachine,
        _ context: TrackableContext
    ) -> [Output] {
        let subscriber = SubscriberID(client: client, session: request.session)
        let (id, subscribers) = (self.id, self.resolution.funnel.subscribers)
        let isRemembered = self.requests.remember(request, of: client, among: subscribers) {
            Set(presence.members(of: .subscriber, on: id).map(\.client))
        }
        guard isRemembered, subscribers.contains(subscriber) else { return [] }
        return self.reconsider([.requestMade(subscriber, request.resolution)], context)
    }

    /// Drops the requests of a client.
    mutating func dropRequests(of client: ClientID, _ context: TrackableContext) -> [Output] {
        self.reconsider(self.requests.drop(client).map { .requestDropped($0) }, context)
    }
}

extension TrackingEvent {
    /// The event as a record of its stream.
    var record: SpoolRecord {
        SpoolRecord(seq: self.seq, time: self.time, kind: .event, payload: MessageCodec.encode(self))
    }
}
