import TrackingCore

/// What is carried: trackables come and go, fixes are captured, resolutions follow.
extension PublisherStateMachine {
    mutating func add(_ trackable: Trackable, at moment: Moment) -> [Action] {
        guard self.assets[trackable.id] == nil, self.stop == nil else { return [] }
        var funnel = ResolutionStateMachine(
            policy: self.policy, constraints: trackable.constraints,
            floor: trackable.floor ?? self.configuration.floor,
            ceiling: trackable.ceiling ?? self.configuration.ceiling, default: self.configuration.defaultResolution)
        _ = funnel.changed(.batteryRead(percent: self.battery))
        self.assets[trackable.id] = self.asset(trackable, funnel, at: moment)
        let departed = self.departureEnded(of: trackable.id)
        self.assets[trackable.id]?.stateReason = self.connectionRefusal?.code
        var actions = departed + [.stateChanged(trackable.id, .offline, self.connectionRefusal)]
        actions += self.tellLifecycle(.started, of: [trackable.id], at: moment)
        actions += self.tellLowBattery(of: trackable.id, at: moment)
        actions += self.resolutionMayHaveChanged(trackable.id, at: moment)
        if case .offline = self.session.phase { return actions }
        actions.append(self.subscribe(self.filters(trackable.id), .adding(trackable.id)))
        return actions + self.listenForCommands(on: [trackable.id])
    }

    /// A trackable with what the log holds of it.
    private mutating func asset(
        _ trackable: Trackable, _ funnel: ResolutionStateMachine, at moment: Moment
    ) -> TrackedAsset {
        let log = self.logs.removeValue(forKey: trackable.id) ?? SpoolContents.Trackable()
        let stream = log.current ?? .random(using: &self.random)
        let spool = SpoolStateMachine(
            configuration: self.configuration.recording, streams: log.streams, current: stream,
            seed: self.random.next(), now: moment.now)
        var trip = self.configuration.trips.reseeded(self.random.next())
        if let bytes = self.kept[Self.tripKey(trackable.id)] { try? trip.restore(bytes, at: moment) }
        var asset = TrackedAsset(
            trackable: trackable, stream: stream, rawStream: .random(using: &self.random),
            lastSeq: log.streams.first { $0.id == stream }?.last ?? 0, spool: spool, funnel: funnel, trip: trip,
            configuration: self.configuration)
        if let crossing = self.kept[Self.batteryKey(trackable.id)] { asset.lowBattery?.restore(crossing) }
        return asset
    }

    mutating func change(_ trackable: Trackable, at moment: Moment) -> [Action] {
        guard self.assets[trackable.id] != nil else { return [] }
        self.assets[trackable.id]?.trackable = trackable
        self.assets[trackable.id]?.lane.filter.rule = trackable.filter
        self.assets[trackable.id]?.lane.filter.maximumSilence = trackable.maximumSilence
        self.assets[trackable.id]?.rawLane?.filter.rule = trackable.filter
        self.assets[trackable.id]?.rawLane?.filter.maximumSilence = trackable.maximumSilence
        let threshold = trackable.constraints?.proximityThreshold
        let near = [
            self.assets[trackable.id]?.proximity.destinationChanged(trackable.destination),
            self.assets[trackable.id]?.proximity.thresholdChanged(threshold),
        ].compactMap { $0 ?? nil }
        let limits: [ConditionChange] = [
            .floorChanged(trackable.floor ?? self.configuration.floor),
            .ceilingChanged(trackable.ceiling ?? self.configuration.ceiling),
        ]
        let battery = self.configuration.lowBattery
        self.assets[trackable.id]?.lowBatteryMayHaveChanged(default: battery)
        return self.tellLowBattery(of: trackable.id, at: moment)
            + self.reconsider(
                trackable.id,
                [.constraintsChanged(trackable.constraints)] + limits + near.map { .nearChanged($0) }, at: moment)
    }

    /// Takes leave of one trackable: its presence and its resolution are cleared, its trip ends, its last
    /// position stays.
    mutating func remove(_ id: TrackableID, at moment: Moment) -> [Action] {
        let trip = self.endTrip(of: id, at: moment)
        guard let asset = self.assets.removeValue(forKey: id) else { return [] }
        self.forgetAnswers { $0.published == id }
        let ended = self.endIntake(of: id)
        self.logs[id] = asset.held
        self.kept[Self.tripKey(id)] = asset.trip.encoded(at: moment)
        self.requests[id] = nil
        self.requestLimits.forget(id)
        self.unsentEvents.forget(of: id) { _ in true }
        self.crowded.remove(id)
        self.lesserRefusals[id] = nil
        for timer: Timer in [.silence(id), .announce(id), .retry(id), .lesser(id), .asset(id), .resolution(id)] {
            self.timers.remove(timer)
        }
        // Of a trackable that another publisher owns, what stands is the other's.
        let clearing = asset.failure == nil && asset.since != nil ? self.clear(id) : []
        var actions = self.apply(self.presence.forget(id), at: moment)
        if self.session.isConnected {
            let commands: [TopicFilter] = self.configuration.takesCommands ? [.topic(.command(id))] : []
            let positions: [TopicFilter] = asset.fed == nil ? [] : [.topic(.location(id))]
            let paths = (self.filters(id) + commands + positions).map { self.configuration.topicRoot.path($0) }
            actions.append(.send([.unsubscribe(paths)]))
        }
        actions += clearing
        actions.append(.removed(id))
        return trip + actions + ended + self.sensorMayHaveChanged()
    }

    /// The presence, and the resolution where no other publisher may have said one.
    mutating func clear(_ id: TrackableID) -> [Action] {
        self.clear(.publisher(id, self.session.client))
            + (self.presence.standingPublishers(on: id).isEmpty ? self.clear(.resolution(id)) : [])
    }

    // MARK: - Fixes and conditions

    /// The source told a fix. With a time that the wire does not carry it would be refused wherever it comes: it is not taken.
    mutating func told(_ fix: Location, raw: Location, device: Moment, at moment: Moment) -> [Action] {
        guard WireLimits.allows(fix.time) else {
            let error = TrackingError(
                .invalidPayload,
                "the time of a fix must be Unix time in seconds, as far as the year 5138; is it in milliseconds?")
            return [.fixRefused(error)]
        }
        self.ages.moved(fix, wall: device.wall)
        let (told, refusal) = Self.withoutRefusedMembers(fix)
        let raw = WireLimits.allows(raw.time) ? Self.withoutRefusedMembers(raw).fix : nil
        return (refusal.map { [.extraLeftOut($0)] } ?? []) + self.captured(told, raw: raw, at: moment)
    }

    /// Removes an `extra` and an id of a trip that readers refuse: they would keep the position, and every update that it is a
    /// skipped point of, off the live lane.
    private static func withoutRefusedMembers(_ fix: Location) -> (fix: Location, refusal: TrackingError?) {
        guard fix.extra != nil || fix.tripID != nil else { return (fix, nil) }
        var fix = fix
        // It is given a number anew.
        fix.seq = nil
        do throws(TrackingError) {
            _ = try LocationCodec.encode(LocationUpdate(location: fix))
            return (fix, nil)
        } catch {
            fix.extra = nil
            if fix.tripID?.isTripID == false { fix.tripID = nil }
            return (fix, error)
        }
    }

    /// One fix from the source concerns every trackable that is carried.
    private mutating func captured(_ fix: Location, raw: Location?, at moment: Moment) -> [Action] {
        guard self.configuration.isOn else { return [] }
        var fix = fix
        if fix.batteryLevel == nil, let battery = self.battery { fix.batteryLevel = battery / 100 }
        let thinning = self.thinning
        self.capture?.filter.resolution = thinning
        guard let outcome = self.capture?.moved(fix, at: moment) else {
            for id in Array(self.assets.keys) { self.assets[id]?.places.moved(to: fix) }
            self.deferralRecorded(fix, at: moment)
            let actions = Array(self.assets.keys).flatMap {
                self.captured(fix, shown: fix, raw: raw, of: $0, at: moment)
            }
            return actions + self.reported()
        }
        for id in Array(self.assets.keys) { self.assets[id]?.places.saw(outcome) }
        // The fix may have told the time.
        let told = self.trusted(moment)
        if let point = outcome.point { self.deferralRecorded(point, at: told) }
        let actions = self.tell(outcome.happenings, at: told)
        guard let shown = outcome.shown else { return actions }
        let raw = self.capture?.isPaused == true ? nil : raw.flatMap { self.capture?.zones.hidden($0) }
        // A fix that was asked for is recorded whatever the filter says.
        let point = outcome.point ?? (self.reports.isEmpty ? nil : shown)
        return actions
            + Array(self.assets.keys).flatMap { self.captured(point, shown: shown, raw: raw, of: $0, at: told) }
            + self.reported()
    }

    /// What a source that cannot be slowed would keep to: the interval asked of it. Displacements are the update filter's, by which
    /// what stands is visibly alive; and where a way alone may send a position, each fix may be that.
    private var thinning: Resolution? {
        guard self.configuration.thinsFixes, let sensor = self.sensor,
            self.assets.values.allSatisfy({ $0.trackable.filter == .both })
        else { return nil }
        return try? Resolution(
            accuracy: sensor.accuracy, desiredInterval: sensor.desiredInterval, minimumDisplacement: 0)
    }

    /// - Parameters:
    ///   - point: What is recorded; `nil` where nothing is.
    ///   - shown: The position as far as it may be shown.
    ///   - raw: What goes out on the raw lane; `nil` where nothing may.
    private mutating func captured(
        _ point: Location?, shown: Location, raw: Location?, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        var actions: [Action] = []
        // What failed is final: another publisher records it now, or nobody can.
        guard self.assets[id]?.failure == nil else { return [] }
        if let next = self.assets[id]?.nextName {
            actions += self.tripChanged(self.assets[id]?.trip.moved(shown, at: moment, next: next), of: id, at: moment)
        }
        let wall = self.believedTime(at: moment)
        // At every fix, recorded or not.
        if let near = self.assets[id]?.proximity.moved(shown, now: moment.now, wallClock: wall) {
            actions += self.reconsider(id, [.nearChanged(near)], at: moment)
        }
        if let raw, let rawLocation = self.assets[id]?.capturedRaw(raw) {
            _ = self.assets[id]?.rawLane?.captured(rawLocation, now: moment.now, wallClock: wall)
        }
        guard let point, let location = self.assets[id]?.captured(point), let seq = location.seq else {
            return actions
        }
        let payload = LocationCodec.encodeFeature(location, inheriting: location.stream)
        actions += self.append(
            SpoolRecord(seq: seq, time: location.time, kind: .point, tripID: location.tripID, payload: payload), of: id)
        actions += self.travelled(to: location, of: id, at: moment)
        self.assets[id]?.lastFix = location
        self.assets[id]?.places.recorded(location)
        guard self.configuration.sendsLive else { return actions + [.captured(id, location, .notLive)] }
        let isAsked = !self.reports.isEmpty
        guard
            let verdict = self.assets[id]?.lane.captured(
                location, isAsked: isAsked, now: moment.now, wallClock: wall)
        else { return actions }
        return actions + [.captured(id, location, verdict)]
    }

    /// A point of a trip was recorded.
    private mutating func travelled(to point: Location, of id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id]?.trip.current != nil, let next = self.assets[id]?.nextName else { return [] }
        let change = self.assets[id]?.trip.recorded(point, at: moment, next: next)
        return change == nil
            ? self.keepTrip(of: id, at: moment) : self.tripChanged(change ?? nil, of: id, at: moment)
    }

    mutating func batteryRead(_ percent: Double?, at moment: Moment) -> [Action] {
        self.battery = percent
        var actions: [Action] = []
        for id in self.assets.keys {
            actions += self.tellLowBattery(of: id, at: moment)
            actions += self.reconsider(id, [.batteryRead(percent: percent)], at: moment)
        }
        return actions
    }

    /// The battery may have sunk below the trackable's threshold.
    mutating func tellLowBattery(of id: TrackableID, at moment: Moment) -> [Action] {
        guard let percent = self.battery else { return [] }
        let isCrossing = self.assets[id]?.lowBattery?.read(percent) == true
        let kept = self.keepCrossing(of: id)
        guard isCrossing else { return kept }
        return kept + self.tell(.lowBattery, ["percent": .number(LowBatteryDetector.told(percent))], of: id, at: moment)
    }

    /// Whether a crossing was told goes into the log with its event.
    private mutating func keepCrossing(of id: TrackableID) -> [Action] {
        let (key, crossing) = (Self.batteryKey(id), self.assets[id]?.lowBattery?.kept)
        guard self.kept[key] != crossing else { return [] }
        self.kept[key] = crossing
        return [.log(id, .keep(key, crossing))]
    }

    /// Where the log keeps which low battery of a trackable was told.
    private static func batteryKey(_ id: TrackableID) -> String { "battery/\(id.topicLevel)" }

    /// The device's wall clock was set: times before and after cannot be compared.
    mutating func clockStepped(by step: Duration, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        self.capture?.clockStepped()
        for id in self.assets.keys {
            self.assets[id]?.trip.clockStepped()
            self.assets[id]?.lane.filter.clockStepped()
            self.assets[id]?.proximity.clockStepped()
            self.assets[id]?.rawLane?.filter.clockStepped()
            actions += self.tell(.clockJump, ["seconds": .number(step.inSeconds)], of: id, at: moment)
        }
        return actions
    }

    // MARK: - Events

    /// Something happened: it gets a number in the stream and goes out as soon as there is a connection. Its time is the best
    /// that is known; where that is nothing it says so.
    mutating func tell(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:], of id: TrackableID,
        at moment: Moment
    ) -> [Action] {
        guard let event = self.event(kind, detail, of: id, at: moment) else { return [] }
        self.keepUnsent(event, of: id)
        return [.told(id, event)] + self.append(event.record, of: id)
    }

    /// It is told as soon as it is in the log and there is a connection; of too many the oldest are not.
    mutating func keepUnsent(_ event: TrackingEvent, of id: TrackableID) {
        let isOwn = self.assets[id]?.fed == nil
        self.unsentEvents.add(event, of: id, most: isOwn ? UnsentEvents.mostOfOwn : UnsentEvents.mostOfOthers)
    }

    /// An event with the next number of its stream; its time is the best that is known, and where that is nothing it says so.
    mutating func event(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue], of id: TrackableID, at moment: Moment
    ) -> TrackingEvent? {
        guard let seq = self.assets[id]?.nextSeq(), let asset = self.assets[id] else { return nil }
        let stamp = self.capture?.stamp(at: moment)
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: asset.stream, seq: seq,
            time: stamp?.time ?? moment.wall, kind: kind, detail: (stamp?.detail ?? [:]).merging(detail) { $1 },
            location: self.place(of: kind, asset))
    }

    /// Where something happened, with the zones as they are now; where nothing goes out live no event has a place.
    private func place(of kind: TrackingEvent.Kind, _ asset: TrackedAsset) -> Location? {
        guard self.configuration.sendsLive, let place = asset.places.place(of: kind) else { return nil }
        guard let capture = self.capture else { return place }
        return capture.zones.hidden(place)
    }

    /// The tracking begins, or ends in order.
    mutating func tellLifecycle(
        _ kind: TrackingEvent.Kind, of ids: [TrackableID], at moment: Moment
    ) -> [Action] {
        guard self.configuration.tellsLifecycle else { return [] }
        return ids.flatMap { self.tell(kind, of: $0, at: moment) }
    }

    // MARK: - Time

    /// The moment with the best time that is known.
    func trusted(_ moment: Moment) -> Moment { self.capture?.trusted(moment) ?? moment }

    /// The time; `nil` where nobody knows it.
    func believedTime(at moment: Moment) -> UnixTime? {
        guard let stamp = self.capture?.stamp(at: moment) else { return moment.wall }
        return stamp.basis == .unset ? nil : stamp.time
    }
}

extension TrackingEvent {
    /// The event as a record of its stream.
    var record: SpoolRecord {
        SpoolRecord(seq: self.seq, time: self.time, kind: .event, payload: MessageCodec.encode(self))
    }
}
