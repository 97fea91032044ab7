import TrackingCore

/// The part of a trackable's state machine that handles captured fixes, changed settings, events and trips.
extension TrackableStateMachine {
    // MARK: - Fixes

    /// Handles a fix: records it, and updates the trip, the live updates and the nearness to the destination.
    ///
    /// - Parameters:
    ///   - point: The fix to record; `nil` if it is not to be recorded.
    ///   - shown: The position as the privacy zones allow it to be published.
    ///   - raw: The position for the raw updates; `nil` if none is to be published.
    mutating func captured(
        _ point: Location?, shown: Location, raw: Location?, _ context: TrackableContext
    ) -> [Output] {
        // Another publisher records a failed trackable now, or nobody can.
        guard self.failure == nil else { return [] }
        let change = self.trips.machine.moved(shown, at: context.moment, next: self.backlog.nextName)
        var outputs = self.tripChanged(change, context)
        let wall = context.believedTime
        // At every fix, recorded or not.
        let near = self.resolution.moved(to: shown, now: context.now, wallClock: wall)
        outputs += self.situationChanged(near: near, context)
        self.prediction.moved(to: shown, now: context.now, wallClock: wall)
        if let raw { self.live.capturedRaw(raw, now: context.now, wallClock: wall) }
        guard let point else { return outputs }
        let location = self.named(point)
        outputs.append(self.append(.point(location), at: location.time))
        outputs += self.travelled(to: location, context)
        self.position.recorded(location)
        guard context.sendsLive else { return outputs + [.action(.captured(self.id, location, .notLive))] }
        let verdict = self.live.lane.captured(
            location, isAsked: context.isFixRequested, now: context.now, wallClock: wall)
        return outputs + [.action(.captured(self.id, location, verdict))]
    }

    /// Returns the fix with the next record number of the stream, and with the id of the present trip.
    private mutating func named(_ fix: Location) -> Location {
        var location = fix
        location.seq = self.backlog.nextSeq()
        location.stream = self.backlog.stream
        location.tripID = self.trips.machine.current?.id ?? location.tripID
        return location
    }

    /// Returns the time at which ``predict(_:)`` publishes the next predicted position; `nil` for none.
    func predictionDeadline(_ context: TrackableContext) -> MonotonicTime? {
        guard context.configuration.predictsFor != nil, context.sendsLive, context.sendsByItself, context.isAnnounced,
            context.isOn, self.status.isSending, !self.feed.isRemote
        else { return nil }
        let asked = context.configuration.sensorResolution ?? self.resolution.sensor
        return self.prediction.deadline(
            longest: context.configuration.predictsFor, sensorInterval: asked.desiredInterval)
    }

    /// Publishes a predicted position, because the source has no fix. The position is not recorded, and later fixes are
    /// not compared with it.
    ///
    /// Predictions end where a privacy zone begins.
    mutating func predict(_ context: TrackableContext) -> [Output] {
        let interval = self.resolution.damper.current.desiredInterval
        // A measured position waits. It goes first.
        guard self.live.lane.isIdle, !context.isHolding else {
            self.prediction.postpone(by: .zero, now: context.now)
            return []
        }
        guard let predicted = self.prediction.predict(interval: interval, now: context.now) else { return [] }
        guard context.shown(predicted) == predicted,
            let payload = try? LocationCodec.encode(LocationUpdate(location: predicted, kind: .predicted))
        else {
            self.prediction.stop()
            return []
        }
        return [.publish(.location(self.id), payload, .other)]
    }

    /// Handles that the device's clock was set: times before and after are not compared, and an event is recorded.
    mutating func clockStepped(by step: Duration, _ context: TrackableContext) -> [Output] {
        self.trips.machine.clockStepped()
        self.live.clockStepped()
        self.prediction.stop()
        self.resolution.proximity.clockStepped()
        return self.recordEvent(.clockJump, ["seconds": .number(step.inSeconds)], context)
    }

    /// Discards the remembered positions up to and including `watermark`, so that they are not published again; `nil`
    /// discards all of them. The last ended trip is forgotten too.
    mutating func forgetPosition(through watermark: Location?) {
        self.live.forget(through: watermark)
        self.prediction.stop()
        self.trips.forgetLast()
        self.position.forget(through: watermark)
    }

    /// Handles that the trackable's retained position was cleared at the broker.
    ///
    /// If another system supplies the records, the last published position and earlier ones are not published again. If
    /// the records are the device's own, nothing changes.
    mutating func positionCleared() {
        guard self.feed.isRemote, let last = self.live.lane.last?.location else { return }
        self.forgetPosition(through: last)
    }

    // MARK: - Battery

    /// Handles a reading of the battery: it may record a low battery and change the resolution.
    ///
    /// - Parameter percent: The charge, 0…100; `nil` if it is unknown.
    mutating func batteryRead(_ percent: Double?, _ context: TrackableContext) -> [Output] {
        self.reportLowBattery(percent, context) + self.reconsider([.batteryRead(percent: percent)], context)
    }

    /// Records a low-battery event if the battery's charge fell below the threshold.
    mutating func reportLowBattery(_ percent: Double?, _ context: TrackableContext) -> [Output] {
        let (outputs, detail) = self.lowBattery.read(percent, of: self.id)
        return outputs + (detail.map { self.recordEvent(.lowBattery, $0, context) } ?? [])
    }

    // MARK: - Settings

    /// Puts the caller's changed settings of the trackable into effect: destination, constraints, limits, filter and
    /// metadata.
    mutating func change(_ trackable: Trackable, battery: Double?, _ context: TrackableContext) -> [Output] {
        let isDescribed = trackable.metadata == self.trackable.metadata
        self.trackable = trackable
        let metadata = isDescribed ? [] : self.publishPresence(context)
        self.live.trackableChanged(trackable)
        let near = self.resolution.trackableChanged(trackable, wallClock: context.believedTime)
        self.lowBattery.use(trackable, default: context.configuration.lowBattery)
        let changes: [ConditionChange] =
            [.constraintsChanged(trackable.constraints)] + self.limits(context) + near
        return metadata + self.reportLowBattery(battery, context) + self.reconsider(changes, context)
    }

    /// Puts the caller's changed configuration of the publisher into effect for this trackable.
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
        if new.sendsResolution != old.sendsResolution {
            self.resolution.publishAgain()
            outputs += self.publishPresence(context)
            if !new.sendsResolution, !outputs.isEmpty { outputs.append(.clear(.resolution(self.id))) }
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

    /// Records an event in the log. It is published once it is in the log and the publisher may publish it.
    mutating func recordEvent(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:], _ context: TrackableContext
    ) -> [Output] {
        let event = self.event(kind, detail, context)
        self.publishLater(event, context)
        return [.action(.eventRecorded(self.id, event)), self.append(.event(event), at: event.time)]
    }

    /// Records the caller's answer to a command as an event. While the publisher is announced on a connection, the
    /// event is published at once; otherwise later.
    mutating func recordAnswer(_ detail: [String: JSONValue], _ context: TrackableContext) -> [Output] {
        guard context.isAnnounced else { return self.recordEvent(.command, detail, context) }
        let event = self.event(.command, detail, context)
        return [
            .publish(.event(self.id), MessageCodec.encode(event), .other), self.append(.event(event), at: event.time),
        ]
    }

    /// Makes an event, not recorded yet, with the next record number of the trackable and the best known time.
    private mutating func event(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue], _ context: TrackableContext
    ) -> TrackingEvent {
        let seq = self.backlog.nextSeq()
        let stamp = context.stamp
        // An event has a place only if positions are published live.
        let place = context.sendsLive ? self.position.place(of: kind) : nil
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: self.backlog.stream, seq: seq,
            time: stamp?.time ?? context.moment.wall, kind: kind,
            detail: (stamp?.detail ?? [:]).merging(detail) { $1 },
            location: place.flatMap(context.published(placeOf:)))
    }

    /// Adds an event to those that wait to be published. Above the limit, the oldest waiting events are not published
    /// on the event topic.
    mutating func publishLater(_ event: TrackingEvent, _ context: TrackableContext) {
        self.unsent.add(
            event, most: self.feed.isRemote ? UnsentEvents.mostRemote : UnsentEvents.mostOwn,
            total: context.unsentEvents)
    }

    /// Publishes the waiting events that are in the log; if sending is manual, only the requested ones and answers.
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

    /// Takes over the unpublished end of the trackable's last trip when the trackable is tracked again: the trip's last
    /// version and the event of its end are still published.
    mutating func resume(_ departure: Departure?, _ context: TrackableContext) -> [Output] {
        guard let departure else { return [] }
        self.trips.resume(departure)
        if let event = departure.event { self.publishLater(event, context) }
        return [StoredValues.Key.departure.keep(nil, of: self.id)]
    }

    /// Handles the user's request to begin a trip in `mode`, or to end the trip if `mode` is `nil`, and answers the
    /// request.
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

    /// Records the changed state of a trip in the log, stores it for a restart, and delivers it to the caller.
    ///
    /// If the trip began or ended, an event is recorded too.
    mutating func tripChanged(_ change: TripStateMachine.Change?, _ context: TrackableContext) -> [Output] {
        guard let change else { return [] }
        _ = self.backlog.nextSeq()
        let trip = context.shown(change.trip)
        var outputs = [
            self.append(.trip(trip), at: trip.end ?? context.moment.wall), self.storeTrip(context),
            .action(.tripChanged(self.id, trip)),
        ]
        self.trips.changed(to: trip)
        if let happening = change.happening {
            outputs += [.release, .updateSensorResolution]
            outputs += self.recordEvent(happening.kind, happening.detail, context)
        }
        return outputs
    }

    /// Returns the request that stores the trip's state in the log, so that the trip continues after a restart.
    private func storeTrip(_ context: TrackableContext) -> Output {
        StoredValues.Key.trip.keep(self.trips.machine.encoded(at: context.moment), of: self.id)
    }

    /// Adds a recorded point to the present trip. Without a trip, nothing happens.
    private mutating func travelled(to point: Location, _ context: TrackableContext) -> [Output] {
        guard self.trips.machine.current != nil else { return [] }
        let change = self.trips.machine.recorded(point, at: context.moment, next: self.backlog.nextName)
        return change == nil ? [self.storeTrip(context)] : self.tripChanged(change, context)
    }

    /// Publishes the newest state of the trip once it is in the log.
    ///
    /// A trip contains positions. So it is published only if positions are published live.
    mutating func publishTrip(_ context: TrackableContext) -> [Output] {
        guard context.sendsLive, context.isAnnounced, self.status.isSending else { return [] }
        let backlog = self.backlog
        let trip = self.trips.takeUnpublished(where: { backlog.mayPublish($0.stream, $0.seq) }, context.shown)
        return trip.map { [.publish(.trip(self.id), MessageCodec.encode($0), .other)] } ?? []
    }

    /// Handles the deadline of the trip, which came without a new fix: the trip ends, or its changed state is recorded.
    mutating func tripTimerFired(_ context: TrackableContext) -> [Output] {
        let change = self.trips.machine.timerFired(at: context.moment, next: self.backlog.nextName)
        return self.failure == nil ? self.tripChanged(change, context) : []
    }

    /// Handles changed privacy zones for the trackable's retained trip: if the zones hide places that the trip
    /// contains, publishes the trip without them, or clears it.
    ///
    /// - Parameter areMore: `true` if the zones hide more than before.
    mutating func hideTrip(areMore: Bool, _ context: TrackableContext) -> [Output] {
        let isClaimed = self.status.since != nil
        switch self.trips.hide(areMore: areMore, isClaimed: isClaimed, at: context.moment, context.shown) {
        case .remains: return []
        case .clear: return [.clear(.trip(self.id))]
        case .publish: return self.publishTrip(context)
        }
    }
}
