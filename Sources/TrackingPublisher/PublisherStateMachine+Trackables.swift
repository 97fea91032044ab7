import TrackingCore

/// What is carried: trackables come and go, fixes are captured, resolutions follow.
extension PublisherStateMachine {
    mutating func add(_ trackable: Trackable, at moment: Moment) -> [Action] {
        guard self.assets[trackable.id] == nil, self.stop == nil else { return [] }
        var funnel = ResolutionStateMachine(
            policy: self.policy, constraints: trackable.constraints,
            floor: trackable.floor ?? self.configuration.floor, default: self.configuration.defaultResolution)
        _ = funnel.changed(.batteryRead(percent: self.battery))
        self.assets[trackable.id] = TrackedAsset(
            trackable: trackable, stream: .random(using: &self.random), rawStream: .random(using: &self.random),
            funnel: funnel, sendsRaw: self.configuration.sendsRawLocations)
        self.unclear.remove(trackable.id)
        var actions = self.resolutionMayHaveChanged(trackable.id)
        if case .offline = self.session.phase { return actions }
        actions.append(self.subscribe(Self.filters(trackable.id), .adding(trackable.id)))
        return actions
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
        let floor = trackable.floor ?? self.configuration.floor
        return self.reconsider(
            trackable.id,
            [.constraintsChanged(trackable.constraints), .floorChanged(floor)] + near.map { .nearChanged($0) })
    }

    /// Takes leave of one trackable: its presence and its resolution are cleared, its last position stays.
    mutating func remove(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets.removeValue(forKey: id) else { return [] }
        self.requests[id] = nil
        self.crowded.remove(id)
        for timer: Timer in [.silence(id), .announce(id), .retry(id)] { self.timers.remove(timer) }
        var actions = self.apply(self.presence.forget(id), at: moment)
        if self.session.isAnnounced {
            let paths = Self.filters(id).map { self.configuration.topicRoot.path($0) }
            actions.append(.send([.unsubscribe(paths)]))
            // Of a trackable that another publisher owns, what stands is the other's.
            if asset.failure == nil { actions += self.clear(id) }
        } else if asset.failure == nil, asset.since != nil {
            self.unclear.insert(id)
        }
        actions.append(.removed(id))
        return actions + self.sensorMayHaveChanged()
    }

    mutating func clear(_ id: TrackableID) -> [Action] {
        [self.publish(.publisher(id, self.session.client), []), self.publish(.resolution(id), [])]
    }

    // MARK: - Fixes and conditions

    /// One fix from the source concerns every trackable that is carried.
    mutating func captured(_ fix: Location, raw: Location, at moment: Moment) -> [Action] {
        var fix = fix
        if fix.batteryLevel == nil, let battery = self.battery { fix.batteryLevel = battery / 100 }
        var actions: [Action] = []
        for id in self.assets.keys { actions += self.captured(fix, raw: raw, of: id, at: moment) }
        return actions
    }

    private mutating func captured(
        _ fix: Location, raw: Location, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        guard let location = self.assets[id]?.captured(fix) else { return [] }
        var actions: [Action] = []
        if let near = self.assets[id]?.proximity.moved(location, now: moment.now) {
            actions += self.reconsider(id, [.nearChanged(near)])
        }
        guard let verdict = self.assets[id]?.lane.captured(location, now: moment.now, wallClock: moment.wall) else {
            return actions
        }
        if let rawLocation = self.assets[id]?.capturedRaw(raw) {
            _ = self.assets[id]?.rawLane?.captured(rawLocation, now: moment.now, wallClock: moment.wall)
        }
        return actions + [.captured(id, location, verdict)]
    }

    mutating func batteryRead(_ percent: Double?, at moment: Moment) -> [Action] {
        self.battery = percent
        var actions: [Action] = []
        for id in self.assets.keys {
            let wasLow = self.assets[id]?.funnel.isLowBattery == true
            actions += self.reconsider(id, [.batteryRead(percent: percent)])
            if let percent, !wasLow, self.assets[id]?.funnel.isLowBattery == true {
                actions += self.tell(.lowBattery, ["percent": .number(percent)], of: id, at: moment)
            }
        }
        return actions
    }

    /// The device's wall clock was set: times before and after cannot be compared.
    mutating func clockStepped(by step: Duration, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for id in self.assets.keys {
            self.assets[id]?.lane.filter.clockStepped()
            self.assets[id]?.proximity.clockStepped()
            self.assets[id]?.rawLane?.filter.clockStepped()
            actions += self.tell(.clockJump, ["seconds": .number(step.inSeconds)], of: id, at: moment)
        }
        return actions
    }

    /// The one funnel: there is no other way for a resolution to change. What changes in one breath is told once.
    mutating func reconsider(_ id: TrackableID, _ changes: [ConditionChange]) -> [Action] {
        for change in changes { self.assets[id]?.reconsider(change) }
        return self.resolutionMayHaveChanged(id)
    }

    /// Tells what differs from what was told before: to the source, and to whoever listens.
    mutating func resolutionMayHaveChanged(_ id: TrackableID) -> [Action] {
        var actions = self.sensorMayHaveChanged()
        guard let asset = self.assets[id], asset.failure == nil, asset.inForce != asset.published else {
            return actions
        }
        let inForce = asset.inForce
        if self.session.isAnnounced, asset.isSending,
            asset.resolutionsUnderWay < Self.maximumResolutionsUnderWay
        {
            self.assets[id]?.published = inForce
            self.assets[id]?.resolutionsUnderWay += 1
            actions.append(self.publish(.resolution(id), MessageCodec.encode(inForce), .resolution(id)))
        }
        guard inForce != asset.told else { return actions }
        self.assets[id]?.told = inForce
        return actions + [.resolutionChanged(id, inForce)]
    }

    mutating func sensorMayHaveChanged() -> [Action] {
        let next = SensorResolution.finest(
            of: self.assets.values.filter { $0.failure == nil }.map(\.funnel.current),
            default: self.configuration.defaultResolution, constant: self.configuration.sensorResolution)
        guard next != self.sensor else { return [] }
        self.sensor = next
        return [.useSensorResolution(next)]
    }

    // MARK: - Events

    /// Something happened: it gets a number in the stream and goes out as soon as there is a connection.
    mutating func tell(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue], of id: TrackableID, at moment: Moment
    ) -> [Action] {
        guard let seq = self.assets[id]?.nextSeq(), let asset = self.assets[id] else { return [] }
        let event = TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: asset.stream, seq: seq, time: moment.wall, kind: kind,
            detail: detail, location: asset.lane.last?.location)
        guard self.session.isAnnounced, asset.isSending else {
            self.unsentEvents.append(event)
            self.unsentOwners.append(id)
            if self.unsentEvents.count > Self.maximumUnsentEvents {
                self.unsentEvents.removeFirst()
                self.unsentOwners.removeFirst()
            }
            return []
        }
        return [self.publish(.event(id), MessageCodec.encode(event))]
    }
}
