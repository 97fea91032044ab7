import TrackingCore

/// Who else is on the trackables, and what they ask.
extension PublisherStateMachine {
    mutating func heard(
        _ liveness: Liveness?, from client: ClientID, isRetained: Bool, at moment: Moment
    ) -> [Action] {
        guard client == self.session.client else {
            return self.apply(
                self.presence.heard(liveness, from: client, isRetained: isRetained, now: moment.now), at: moment)
        }
        guard self.session.heardOwn(liveness, isRetained: isRetained) else {
            return self.states(reason: nil, at: moment)
        }
        return self.sayAlive()
    }

    mutating func heard(
        _ presence: Presence?, _ kind: MemberKind, on id: TrackableID, from client: ClientID, isRetained: Bool,
        at moment: Moment
    ) -> [Action] {
        // Another publisher says what stands there.
        let isTaken = kind == .publisher && presence != nil && client != self.session.client
        if isTaken { self.unclear[.resolution(id)] = nil }
        // What is still on its way about a trackable that was removed concerns nobody.
        guard self.assets[id] != nil else { return isTaken ? self.departureTaken(of: id) : [] }
        guard client == self.session.client else {
            return self.apply(
                self.presence.heard(
                    presence, kind: kind, on: id, from: client, isRetained: isRetained, now: moment.now),
                at: moment)
        }
        // A message under one's own client id never counts as another publisher.
        guard kind == .publisher, let presence, presence.session == self.session.session,
            presence.connection == self.session.connection
        else { return [] }
        return self.presenceConfirmed(of: id, at: moment) + self.state(of: id, reason: nil, at: moment)
    }

    mutating func apply(_ changes: [PresenceStateMachine.Change], at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for change in changes {
            switch change {
            case .watch(let client):
                self.watched.insert(client)
                actions.append(self.subscribe([.topic(.liveness(client))], .other))
            case .unwatch(let client):
                self.watched.remove(client)
                let path = self.configuration.topicRoot.path(.liveness(client))
                actions.append(.send([.unsubscribe([path])]))
            case .full(let client):
                let error = TrackingError(.refused, "too many members: the presence of '\(client)' was not taken in")
                actions.append(.badMessage(topic: self.configuration.topicRoot.path(.liveness(client)), error))
            case .arrived(let member), .changed(let member), .left(let member):
                actions += self.membersChanged(change, member, at: moment)
            }
        }
        return actions
    }

    private mutating func membersChanged(
        _ change: PresenceStateMachine.Change, _ member: Member, at moment: Moment
    ) -> [Action] {
        let id = member.trackable
        guard self.assets[id] != nil else { return [] }
        guard member.presence.kind == .subscriber else {
            if case .left = change {
            } else {
                let overtaken = self.compareOwners(member, at: moment)
                guard overtaken.isEmpty else { return overtaken }
            }
            // What it says, or said, as long as it knows nothing of this one is said over.
            if self.assets[id]?.isSending == true { self.announceSoon(id, at: moment) }
            return []
        }
        let subscriber = SubscriberID(client: member.client, session: member.presence.session)
        switch change {
        case .arrived:
            self.announceSoon(id, at: moment)
            // Its request, where it is known already, takes effect in the same breath.
            let request = self.requests[id]?[subscriber.client]?[subscriber.session]
            return self.reconsider(
                id, [.subscriberCame(subscriber)] + (request.map { [.requestMade(subscriber, $0)] } ?? []), at: moment)
        case .left:
            self.crowded.remove(id)
            // Its request stands until it is dropped, or another session of the client asks: a lease that ran out may
            // be renewed without a new request.
            if self.requests[id]?[subscriber.client]?.count ?? 0 > 1 {
                self.requests[id]?[subscriber.client]?[subscriber.session] = nil
            }
            return self.reconsider(id, [.subscriberLeft(subscriber)], at: moment)
        case .changed:
            // It connected again, to a broker that may not tell it what stands.
            self.announceSoon(id, at: moment)
            return []
        case .watch, .unwatch, .full:
            return []
        }
    }

    /// Announced again at a random moment: brokers may not deliver retained messages to those who come.
    private mutating func announceSoon(_ id: TrackableID, at moment: Moment) {
        guard self.timers.deadline(of: .announce(id)) == nil else { return }
        let wait = Duration.milliseconds(Int.random(in: 0..<1000, using: &self.random))
        self.timers.set(.announce(id), deadline: moment.now.advanced(by: wait))
    }

    /// Whether another publisher, present or not, claims the trackable since later than this one.
    func isClaimed(_ id: TrackableID) -> Bool {
        guard let since = self.assets[id]?.since else { return false }
        return self.presence.standingPublishers(on: id).contains {
            ($0.since, $0.session) > (since, self.session.session)
        }
    }

    /// The publisher with the latest `since` owns the trackable; a tie goes to the greater session id.
    mutating func compareOwners(_ other: Member, at moment: Moment) -> [Action] {
        let id = other.trackable
        guard let since = self.assets[id]?.since, self.assets[id]?.failure == nil else { return [] }
        let theirs = (other.presence.since, other.presence.session)
        guard theirs > (since, self.session.session) else { return [] }
        let error = TrackingError(
            .takenOver, "another publisher, '\(other.client)', carries '\(id)' since later; remove it there or here")
        let detail: [String: TrackingEvent.DetailValue] = ["client": .text(other.client.rawValue)]
        var actions = self.tell(.collision, detail, of: id, at: moment)
        actions += self.clear(.publisher(id, self.session.client))
        self.assets[id]?.failure = error
        self.timers.remove(.silence(id))
        if self.configuration.onCollision == .clear { actions += self.clearRecords(of: id, at: moment) }
        return actions + self.states(reason: error, at: moment)
    }
}
