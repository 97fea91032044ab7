import TrackingCore

/// What is made of messages: positions in order, who owns the trackable, what is expected next.
extension SubscriberStateMachine {
    mutating func received(_ message: IncomingMessage, at moment: Moment) -> [Action] {
        if self.configuration.readsBrokerDrops, message.topic == BrokerDrops.topic {
            self.brokerDrops.received(message.payload, now: moment.now)
            return []
        }
        do throws(TrackingError) {
            guard let topic = self.configuration.topicRoot.topic(message.topic) else { return [] }
            if !self.unheard.isEmpty, let id = topic.trackable { self.unheard.remove(id) }
            return try self.received(topic, message, at: moment)
        } catch {
            self.badMessages += 1
            return [.tell(.badMessage(topic: message.topic, error))]
        }
    }

    private mutating func received(
        _ topic: Topic, _ message: IncomingMessage, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        let payload = message.payload.isEmpty ? nil : message.payload
        switch topic {
        case .location(let id):
            self.notePosition(of: id, isThere: payload != nil)
            guard let payload else { return self.locationCleared(id) }
            let update = try LocationCodec.decode(payload)
            return self.show(id, at: moment) + self.moved(id, update, message.isRetained, at: moment)
        case .raw(let id):
            guard let payload, self.configuration.wantsRaw else { return [] }
            let update = try LocationCodec.decode(payload)
            return self.movedRaw(id, update, message.isRetained)
        case .publisher(let id, let client):
            return try self.publisher(id, client, payload, message.isRetained, at: moment)
        case .resolution(let id):
            let resolution = try payload.map { (bytes) throws(TrackingError) in
                try MessageCodec.decodeResolution(bytes)
            }
            return self.resolved(id, resolution, at: moment)
        case .liveness(let client):
            let liveness = try payload.map { (bytes) throws(TrackingError) in try MessageCodec.decodeLiveness(bytes) }
            return self.heard(liveness, from: client, isRetained: message.isRetained, at: moment)
        case .trip(let id):
            let trip = try payload.map { (bytes) throws(TrackingError) in try MessageCodec.decodeTrip(bytes) }
            return self.travelled(id, trip, at: moment)
        case .event(let id):
            guard let payload else { return [] }
            return self.happened(try MessageCodec.decodeEvent(payload), to: id, at: moment)
        case .history(let id):
            guard let payload, self.configuration.wantsRecorded else { return [] }
            return self.recorded(try HistoryCodec.decodeDocuments(payload), of: id, message.topic, at: moment)
        case .subscriber, .request, .ack, .command, .answer:
            return []
        }
    }

    private mutating func publisher(
        _ id: TrackableID, _ client: ClientID, _ payload: ArraySlice<UInt8>?, _ isRetained: Bool, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        var presence: Presence?
        if let payload {
            let read = try MessageCodec.decodePresence(payload)
            guard read.kind == .publisher else {
                throw TrackingError(.invalidPayload, "type is \(read.kind.rawValue) on the topic of a PUBLISHER")
            }
            presence = read
        }
        guard client != self.session.client else { return [] }
        var actions = presence == nil ? [] : self.show(id, at: moment)
        guard self.assets[id] != nil else { return actions }
        if presence != nil, !isRetained { self.assets[id]?.lastSeen = moment.wall }
        actions += self.apply(
            self.presence.heard(
                presence, kind: .publisher, on: id, from: client, isRetained: isRetained, now: moment.now),
            at: moment)
        return actions
    }

    /// A trackable showed up by itself.
    mutating func show(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard self.configuration.watchesAll, self.assets[id] == nil, !self.isStopping else { return [] }
        var actions = self.assets.count < self.configuration.maximumTrackables ? [] : self.makeRoom(for: id, at: moment)
        if self.assets.count < self.configuration.maximumTrackables {
            actions += self.watch(id, self.configuration.requestForAll, at: moment)
            self.assets[id]?.shown = moment.wall
        }
        return actions
    }

    /// Trackables that were not heard of for this long, and have no publisher, make room for others.
    static let longAbsence = Duration.seconds(86_400)
    /// Room is looked for this often at the most.
    static let roomInterval = Duration.seconds(60)

    /// Lets go what was long absent; where that is nothing, says so, as often as it looks.
    private mutating func makeRoom(for id: TrackableID, at moment: Moment) -> [Action] {
        guard self.nextRoom.map({ $0 <= moment.now }) ?? true else { return [] }
        self.nextRoom = moment.now.advanced(by: Self.roomInterval)
        let limit = moment.wall.advanced(by: .zero - Self.longAbsence)
        let absent = self.assets.values.filter { asset in
            asset.owner == nil && asset.request == self.configuration.requestForAll
                && (asset.lastHeard.map { $0 < limit } ?? true)
        }
        guard absent.isEmpty else { return absent.flatMap { self.unwatch($0.id) } }
        let error = TrackingError(
            .overloaded,
            "\(self.assets.count) trackables are watched, which is the most: '\(id)' and others are left alone until one was absent for a day"
        )
        return [.tell(.badMessage(topic: self.configuration.topicRoot.path(.location(id)), error))]
    }

    // MARK: - Positions

    private mutating func moved(
        _ id: TrackableID, _ update: LocationUpdate, _ isRetained: Bool, at moment: Moment
    ) -> [Action] {
        guard self.assets[id]?.isOfOwner(update.location.stream) == true else {
            if isRetained { self.assets[id]?.keptOfOthers = update }
            return []
        }
        if isRetained {
            self.assets[id]?.shown = update.location.time
        } else {
            self.assets[id]?.heardFrom(now: moment.now, wall: moment.wall)
        }
        let verdict = self.assets[id]?.consider(update) ?? .duplicate
        let skipped = self.assets[id]?.order.newSkipped(update) ?? []
        let isBack = self.assets[id]?.isMissing == true
        self.assets[id]?.isMissing = false
        var actions = self.told(id, reason: nil)
        if verdict != .duplicate || isBack {
            let received = ReceivedUpdate(
                update: update, skipped: skipped, isLate: verdict == .late, isRetained: isRetained)
            actions.append(.tell(.location(id, received)))
            self.assets[id]?.isLocated = true
        }
        self.expect(id)
        return actions
    }

    /// Somebody cleared the position that the broker kept. What was seen stays known by its number: it does not come back, and
    /// what is newer is news. Of what made room for others a position may have been told.
    private mutating func locationCleared(_ id: TrackableID) -> [Action] {
        self.assets[id]?.keptOfOthers = nil
        guard self.assets[id]?.isLocated ?? self.configuration.watchesAll else { return [] }
        self.assets[id]?.isLocated = false
        self.assets[id]?.isMissing = false
        return [.tell(.locationCleared(id))]
    }

    private mutating func movedRaw(_ id: TrackableID, _ update: LocationUpdate, _ isRetained: Bool) -> [Action] {
        let verdict = self.assets[id]?.rawOrder.consider(update) ?? .duplicate
        let skipped = self.assets[id]?.rawOrder.newSkipped(update) ?? []
        guard verdict != .duplicate else { return [] }
        let received = ReceivedUpdate(
            update: update, skipped: skipped, isLate: verdict == .late, isRetained: isRetained)
        return [.tell(.raw(id, received))]
    }

    private mutating func resolved(
        _ id: TrackableID, _ resolution: ResolutionInForce?, at moment: Moment
    ) -> [Action] {
        guard self.assets[id] != nil, self.assets[id]?.resolution != resolution else { return [] }
        self.assets[id]?.resolution = resolution
        self.expect(id)
        return self.toldResolution(id)
    }

    /// The resolution in force, where it differs from what was told before.
    private mutating func toldResolution(_ id: TrackableID) -> [Action] {
        guard let asset = self.assets[id], asset.resolutionInForce != asset.toldResolution else { return [] }
        self.assets[id]?.toldResolution = asset.resolutionInForce
        return [.tell(.resolution(id, asset.resolutionInForce))]
    }

    // MARK: - Trips and events

    /// Of a trip, the newest version is told, and each one once; of whatever publisher.
    private mutating func travelled(_ id: TrackableID, _ trip: Trip?, at moment: Moment) -> [Action] {
        let shown = trip == nil ? [] : self.show(id, at: moment)
        guard self.assets[id]?.isNews(trip) == true else { return shown }
        return shown + [.tell(.trip(id, trip))]
    }

    /// Each event is told once; a publisher that lost the trackable to another one has something to tell too.
    private mutating func happened(_ event: TrackingEvent, to id: TrackableID, at moment: Moment) -> [Action] {
        let shown = self.show(id, at: moment)
        guard self.assets[id]?.isNews(event) == true else { return shown }
        return shown + [.tell(.event(id, event))]
    }

    // MARK: - Who is there

    private mutating func heard(
        _ liveness: Liveness?, from client: ClientID, isRetained: Bool, at moment: Moment
    ) -> [Action] {
        guard client == self.session.client else {
            if liveness != nil, !isRetained {
                for id in self.presence.trackables(of: client) where self.assets[id]?.owner?.client == client {
                    self.assets[id]?.lastSeen = moment.wall
                }
            }
            return self.apply(
                self.presence.heard(liveness, from: client, isRetained: isRetained, now: moment.now), at: moment)
        }
        let isStray = self.session.heardOwn(liveness, isRetained: isRetained)
        if self.session.isLivenessConfirmed { self.expectKept(within: SubscriberConfiguration.keptAfter.0, at: moment) }
        guard isStray else { return [] }
        return [self.publish(.liveness(client), MessageCodec.encode(self.session.birth))]
    }

    mutating func apply(_ changes: [PresenceStateMachine.Change], at moment: Moment?) -> [Action] {
        var actions: [Action] = []
        for change in changes {
            switch change {
            case .watch(let client):
                self.watched.insert(client)
                actions.append(self.subscribe([.topic(.liveness(client))], .other))
            case .unwatch(let client):
                self.watched.remove(client)
                actions.append(.send([.unsubscribe([self.configuration.topicRoot.path(.liveness(client))])]))
            case .full(let client):
                let error = TrackingError(.refused, "too many publishers: the presence of '\(client)' was not taken in")
                actions.append(.tell(.badMessage(topic: self.configuration.topicRoot.path(.liveness(client)), error)))
            case .arrived(let member), .changed(let member):
                // Changed means that it connected again, to a broker that may not tell it what stands.
                if let moment { self.announceSoon(member.trackable, at: moment) }
                actions += self.membersChanged(member.trackable, at: moment)
            case .left(let member):
                actions += self.membersChanged(member.trackable, at: moment)
            }
        }
        return actions
    }

    /// At a random moment within a second; of all that arrive until then at the same, so that one liveness does for them.
    private mutating func announceSoon(_ id: TrackableID, at moment: Moment) {
        guard !self.configuration.isSilent, self.timers.deadline(of: .announce(id)) == nil else { return }
        let wait = Duration.milliseconds(Int.random(in: 0..<1000, using: &self.random))
        let next = self.nextAnnouncement.flatMap { $0 > moment.now ? $0 : nil } ?? moment.now.advanced(by: wait)
        self.nextAnnouncement = next
        self.timers.set(.announce(id), deadline: next)
    }

    private mutating func membersChanged(_ id: TrackableID, at moment: Moment?) -> [Action] {
        guard self.assets[id] != nil else { return [] }
        let hadOwner = self.assets[id]?.owner != nil
        self.assets[id]?.owner = self.presence.owner(of: id)
        if !hadOwner, let moment {
            self.assets[id]?.lastSign = moment.now
            self.assets[id]?.isStale = false
        }
        self.expect(id)
        let actions = self.told(id, reason: nil) + self.toldResolution(id)
        guard let moment, let kept = self.assets[id]?.keptOfOthers,
            self.assets[id]?.isOfOwner(kept.location.stream) == true
        else { return actions }
        return actions + self.moved(id, kept, true, at: moment)
    }

    // MARK: - States and time

    /// The state and the presence, where they differ from what was told before.
    mutating func told(_ id: TrackableID, reason: TrackingError?) -> [Action] {
        guard let asset = self.assets[id] else { return [] }
        var actions: [Action] = []
        let refusal = self.refusal(of: id) ?? self.refusal(of: nil)
        let isConnected = self.session.isAnnounced && refusal == nil
        let status: PublisherPresence.Status =
            isConnected ? (asset.owner == nil ? .absent : .present) : .unknown
        if status != asset.toldPresence {
            self.assets[id]?.toldPresence = status
            actions.append(.tell(.presence(id, PublisherPresence(status: status, lastSeen: asset.lastSeen))))
        }
        let failure = self.failure ?? refusal.flatMap { $0.isNameRefusal ? $0 : nil }
        let state = asset.state(isConnected: isConnected, failure: failure)
        if state != asset.toldState {
            self.assets[id]?.toldState = state
            actions.append(.tell(.state(id, state, self.failure ?? refusal ?? (isConnected ? nil : reason))))
        }
        return actions
    }

    mutating func expect(_ id: TrackableID) {
        self.timers.keep(.stale(id), at: self.session.isAnnounced ? self.assets[id]?.staleDeadline : nil)
    }

    /// From the broker's grant on, there is some time to hear something of a trackable that was never heard of.
    mutating func expectToHear(_ id: TrackableID, at moment: Moment) {
        guard self.unheard.contains(id), self.timers.deadline(of: .unheard(id)) == nil,
            self.refusal(of: id) == nil, self.refusal(of: nil) == nil
        else { return }
        self.timers.set(.unheard(id), deadline: moment.now.advanced(by: SubscriberConfiguration.unheardAfter))
    }

    mutating func timersFired(at moment: Moment) -> [Action] {
        var actions = self.apply(self.presence.timerFired(now: moment.now), at: moment)
        if self.session.timerFired(now: moment.now) {
            actions.append(self.publish(.liveness(self.session.client), MessageCodec.encode(self.session.birth)))
        }
        var hasAnnounced = false
        for timer in self.timers.popExpired(now: moment.now) {
            switch timer {
            case .stale(let id):
                self.assets[id]?.isStale = true
                actions += self.told(id, reason: nil)
            case .unheard(let id):
                if self.unheard.remove(id) != nil { actions.append(.tell(.unheard(id))) }
            case .announce(let id):
                guard self.session.isAnnounced else { continue }
                if !hasAnnounced {
                    hasAnnounced = true
                    let birth = MessageCodec.encode(self.session.birth)
                    actions.append(self.publish(.liveness(self.session.client), birth))
                }
                actions += self.enter(id, at: moment)
            case .retry:
                actions += self.retry()
            case .kept:
                actions += self.toldKept(at: moment)
            }
        }
        return actions
    }
}
