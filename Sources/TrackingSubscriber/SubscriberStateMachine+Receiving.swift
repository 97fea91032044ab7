import TrackingCore

/// The messages that a subscriber's state machine receives: positions, presences of publishers, resolutions, trips and
/// events.
extension SubscriberStateMachine {
    mutating func received(_ message: IncomingMessage, at moment: Moment) -> [Action] {
        if message.isRetained { self.retained.retainedArrived(now: moment.now) }
        if self.configuration.readsBrokerDrops, message.topic == BrokerDrops.topic {
            self.brokerDrops.received(message.payload, now: moment.now)
            return []
        }
        do throws(TrackingError) {
            switch try self.member.received(message, now: moment.now) {
            case .role(let topic):
                self.silence.messageArrived(on: topic)
                return try self.received(topic, message, at: moment)
            case .presence(let presence): return self.received(presence, at: moment)
            case .liveness(let client, let isLive, let events):
                if isLive { self.noteSign(of: client, at: moment) }
                return self.handle(events, at: moment)
            case .ownLiveness(let commands):
                if self.member.session.isLivenessConfirmed {
                    self.retained.confirmed(now: moment.now)
                }
                return Self.sending(commands)
            case .foreign: return []
            }
        } catch {
            self.configuration.topicRoot.topic(message.topic).map { self.silence.messageArrived(on: $0) }
            return self.handle([self.member.skipped(message.topic, error)], at: moment)
        }
    }

    private mutating func received(
        _ topic: Topic, _ message: IncomingMessage, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        let payload = message.payload.isEmpty ? nil : message.payload
        switch topic {
        case .location(let id):
            self.retained.positionArrived(id, isCleared: payload == nil, now: moment.now)
            guard let payload else { return self.positionCleared(id) }
            let update = try LocationCodec.decode(payload)
            let actions = self.appeared(id, at: moment) + self.moved(id, update, message.isRetained, at: moment)
            self.retained.messageArrived(
                id, isPosition: true, isLive: !message.isRetained, self.assets, now: moment.now)
            return actions
        case .raw(let id):
            guard let payload, self.configuration.wantsRaw else { return [] }
            let update = self.assets[id]?.movedRaw(try LocationCodec.decode(payload), isRetained: message.isRetained)
            return update.map { [.deliver(.raw(id, $0))] } ?? []
        case .resolution(let id):
            let resolution = try payload.map { (bytes) throws(TrackingError) in
                try MessageCodec.decodeResolution(bytes)
            }
            let actions = self.resolved(id, resolution)
            self.retained.messageArrived(id, isPosition: false, isLive: false, self.assets, now: moment.now)
            return actions
        case .trip(let id):
            let trip = try payload.map { (bytes) throws(TrackingError) in try MessageCodec.decodeTrip(bytes) }
            return self.travelled(id, trip, at: moment)
        case .event(let id):
            guard let payload else { return [] }
            return self.happened(try MessageCodec.decodeEvent(payload), to: id, at: moment)
        case .history(let id):
            guard let payload, self.configuration.wantsRecorded else { return [] }
            return self.recorded(try HistoryCodec.decodeDocuments(payload), of: id, message.topic, at: moment)
        case .enhanced(let id):
            guard let payload, self.assets[id]?.prefers == .enhanced else { return [] }
            let update = try LocationCodec.decode(payload)
            return self.deliver(
                self.assets[id]?.enhanced(update, isRetained: message.isRetained, now: moment.now), of: id)
        case .journey(let id):
            let journey = try payload.map { (bytes) throws(TrackingError) in try MessageCodec.decodeJourney(bytes) }
            let actions = journey == nil ? [] : self.appeared(id, at: moment)
            return actions + self.planned(.journey(id), .journey(id, journey), isCleared: journey == nil)
        case .estimate(let id):
            let estimate = try payload.map { (bytes) throws(TrackingError) in try MessageCodec.decodeEstimate(bytes) }
            return self.planned(.estimate(id), .estimate(id, estimate), isCleared: estimate == nil)
        case .liveness, .publisher, .subscriber, .request, .ack, .command, .answer:
            return []
        }
    }

    /// Handles a presence message of a publisher: the publishers of its trackable, and so the owner, may change.
    /// Ignores a publisher with the subscriber's own client id, and the presence of a subscriber.
    private mutating func received(_ presence: ReceivedPresence, at moment: Moment) -> [Action] {
        let id = presence.trackable
        self.silence.messageArrived(on: .publisher(id, presence.client))
        guard presence.kind == .publisher, presence.client != self.member.client else { return [] }
        let actions = presence.presence == nil ? [] : self.appeared(id, at: moment)
        guard self.assets[id] != nil else { return actions }
        if presence.presence != nil, !presence.isRetained { self.assets[id]?.signs.lastSeen = moment.wall }
        return actions + self.handle(self.member.note(presence, now: moment.now), at: moment)
    }

    /// Stores the present time as the time of the last message for each trackable whose owner is `client`, because
    /// `client` has published that it is online.
    private mutating func noteSign(of client: ClientID, at moment: Moment) {
        for id in self.member.presence.trackables(of: client) where self.assets[id]?.owner?.client == client {
            self.assets[id]?.signs.lastSeen = moment.wall
        }
    }

    // MARK: - All trackables

    /// Begins to watch a trackable when its first message arrives, if the subscriber watches all trackables. At the
    /// limit of watched trackables, tries to make room first. Without room, the trackable is not watched.
    private mutating func appeared(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard self.configuration.watchesAll, self.assets[id] == nil else { return [] }
        var actions = self.assets.count < self.configuration.maximumTrackables ? [] : self.makeRoom(for: id, at: moment)
        if self.assets.count < self.configuration.maximumTrackables {
            actions += self.watch(id, self.configuration.requestForAll, at: moment)
            self.assets[id]?.signs.appeared = moment.wall
        }
        return actions
    }

    /// Makes room for a new trackable when the limit of watched trackables is reached: stops watching all trackables
    /// that have been without a publisher for ``WatchRoom/longAbsence``. If there are none, reports that the new
    /// trackable is not watched.
    private mutating func makeRoom(for id: TrackableID, at moment: Moment) -> [Action] {
        let (attendance, request) = (self.attendance, self.configuration.requestForAll)
        guard let absent = self.room.search(self.assets, at: moment, where: { attendance.request(for: $0) == request })
        else { return [] }
        guard absent.isEmpty else { return absent.flatMap { self.unwatch($0, at: moment) } }
        let error = TrackingError(
            .overloaded,
            "cannot watch '\(id)' and other trackables: \(self.assets.count) trackables are watched, which is the limit. The subscriber watches another one when one of these has had no publisher for a day"
        )
        return [.deliver(.badMessage(topic: self.configuration.topicRoot.path(.location(id)), error))]
    }

    // MARK: - Positions

    private mutating func moved(
        _ id: TrackableID, _ update: LocationUpdate, _ isRetained: Bool, at moment: Moment
    ) -> [Action] {
        guard self.assets[id]?.isOfOwner(update.location.stream) == true else {
            self.assets[id]?.setAside(update, isRetained: isRetained)
            return []
        }
        if isRetained {
            self.assets[id]?.signs.appeared = update.location.time
        } else {
            self.assets[id]?.signs.updateArrived(at: moment)
        }
        let received = self.assets[id]?.moved(update, isRetained: isRetained)
        let actions = self.stateMayHaveChanged(id, reason: nil)
        self.expectSign(of: id)
        guard let received else { return actions }
        return actions + self.deliver(published: received, of: id, at: moment)
    }

    /// Handles that the position retained for a trackable was cleared, and delivers this if a position was delivered
    /// before. Also delivers it for an unknown trackable when all trackables are watched, because its position may have
    /// been delivered earlier.
    private mutating func positionCleared(_ id: TrackableID) -> [Action] {
        guard self.assets[id]?.positionCleared() ?? self.configuration.watchesAll else { return [] }
        return [.deliver(.locationCleared(id))]
    }

    private mutating func resolved(_ id: TrackableID, _ resolution: ResolutionInForce?) -> [Action] {
        guard self.assets[id] != nil, self.assets[id]?.resolution != resolution else { return [] }
        self.assets[id]?.resolution = resolution
        self.expectSign(of: id)
        return self.resolutionMayHaveChanged(id)
    }

    private mutating func resolutionMayHaveChanged(_ id: TrackableID) -> [Action] {
        self.assets[id]?.resolutionEvent().map { [.deliver($0)] } ?? []
    }

    // MARK: - Journeys

    /// Handles a message on the topic of a journey or an estimate, and delivers it if the program wants journeys and the
    /// trackable is watched.
    private mutating func planned(_ topic: Topic, _ event: SubscriberEvent, isCleared: Bool) -> [Action] {
        guard self.configuration.wantsJourneys, let id = topic.trackable, self.assets[id] != nil else { return [] }
        self.journeys.received(topic, isCleared: isCleared)
        return [.deliver(event)]
    }

    /// Delivers the journeys and estimates that were cleared while the subscriber was not connected, once all retained
    /// messages of this connection were received.
    mutating func deliverClearedJourneys() -> [Action] {
        // A broker whose queue was too small may have dropped some of the retained messages.
        guard !self.retained.isOverfull else { return [] }
        return self.journeys.takeCleared().compactMap { topic in
            switch topic {
            case .journey(let id): .deliver(.journey(id, nil))
            case .estimate(let id): .deliver(.estimate(id, nil))
            default: nil
            }
        }
    }

    // MARK: - Trips and events

    /// Handles a message on the topic of a trackable's trip, from any publisher. Delivers each newer version of the
    /// trip once, and delivers `nil` when the trip was cleared.
    private mutating func travelled(_ id: TrackableID, _ trip: Trip?, at moment: Moment) -> [Action] {
        let actions = trip == nil ? [] : self.appeared(id, at: moment)
        guard self.assets[id]?.isNews(trip) == true else { return actions }
        return actions + [.deliver(.trip(id, trip))]
    }

    /// Delivers each tracking event of a trackable once, from any publisher, even from one that no longer owns the
    /// trackable.
    private mutating func happened(_ event: TrackingEvent, to id: TrackableID, at moment: Moment) -> [Action] {
        let actions = self.appeared(id, at: moment)
        guard self.assets[id]?.isNews(event) == true else { return actions }
        return actions + [.deliver(.event(id, event))]
    }

    /// Delivers the tracking events and ended trips in a batch of records, if they are at most seven days old and were
    /// not delivered before.
    private mutating func recorded(
        _ documents: BatchDocuments, of id: TrackableID, _ topic: String, at moment: Moment
    ) -> [Action] {
        let oldest = moment.wall.advanced(by: .zero - SubscriberConfiguration.recordedFor)
        let trips = documents.trips.filter { $0.end.map { $0 >= oldest } ?? false }
        let events = documents.events.filter { $0.time >= oldest }
        var actions: [Action] = trips.isEmpty && events.isEmpty ? [] : self.appeared(id, at: moment)
        for trip in trips where self.assets[id]?.isNews(recorded: trip) == true {
            actions.append(.deliver(.tripRecorded(id, trip)))
        }
        for event in events where self.assets[id]?.isNews(event) == true {
            actions.append(.deliver(.event(id, event)))
        }
        guard let refusal = documents.refusal else { return actions }
        return actions + self.handle([self.member.skipped(topic, refusal)], at: moment)
    }

    // MARK: - Members

    mutating func handle(_ events: [Member.Event], at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for event in events {
            switch event {
            case .send(let commands): actions.append(.send(commands))
            case .badMessage(let topic, let error): actions.append(.deliver(.badMessage(topic: topic, error)))
            case .arrived(let member), .changed(let member):
                // A member that changed has connected again, perhaps to a broker without the retained messages.
                if !self.configuration.isSilent {
                    self.member.announceSoon(member.trackable, now: moment.now, using: &self.random)
                }
                actions += self.publishersChanged(of: member.trackable, at: moment)
            case .left(let member):
                actions += self.publishersChanged(of: member.trackable, at: moment)
            case .announcementsDue(let ids):
                actions.append(.send(self.member.publishLiveness()))
                for id in ids { actions += self.announce(id, at: moment) }
            }
        }
        return actions
    }

    private mutating func publishersChanged(of id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id] else { return [] }
        self.assets[id]?.owner = self.member.presence.owner(of: id)
        if asset.owner == nil { self.assets[id]?.signs.restart(now: moment.now) }
        self.expectSign(of: id)
        self.retained.messageArrived(id, isPosition: false, isLive: false, self.assets, now: moment.now)
        let actions = self.stateMayHaveChanged(id, reason: nil) + self.resolutionMayHaveChanged(id)
        guard let update = self.assets[id]?.updateOfNewOwner else { return actions }
        return actions + self.moved(id, update, true, at: moment)
    }
}
