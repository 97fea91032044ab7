import TrackingCore

/// Who else is on the trackables, and what they ask.
extension PublisherStateMachine {
    /// The most requests remembered of clients that are not present, a trackable.
    static let maximumRequests = 20_000

    mutating func heard(
        _ liveness: Liveness?, from client: ClientID, isRetained: Bool, at moment: Moment
    ) -> [Action] {
        guard client == self.session.client else {
            return self.apply(
                self.presence.heard(liveness, from: client, isRetained: isRetained, now: moment.now), at: moment)
        }
        guard self.session.heardOwn(liveness, isRetained: isRetained) else { return self.states(reason: nil) }
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
        return self.presenceConfirmed(of: id, at: moment) + self.state(of: id, reason: nil)
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
                id, [.subscriberCame(subscriber)] + (request.map { [.requestMade(subscriber, $0)] } ?? []))
        case .left:
            self.crowded.remove(id)
            // Its request stands until it is dropped, or another session of the client asks: a lease that ran out may
            // be renewed without a new request.
            if self.requests[id]?[subscriber.client]?.count ?? 0 > 1 {
                self.requests[id]?[subscriber.client]?[subscriber.session] = nil
            }
            return self.reconsider(id, [.subscriberLeft(subscriber)])
        case .changed:
            // It connected again, to a broker that may not tell it what stands.
            self.announceSoon(id, at: moment)
            return []
        case .watch, .unwatch, .full:
            return []
        }
    }

    /// Every request that is known is to be heard again on this connection: one that was dropped meanwhile is told by nobody. It
    /// stands at the broker, or comes with the announcement of who sees this publisher arrive.
    mutating func expectRequests(at moment: Moment) {
        self.unconfirmed = self.requests.mapValues { Set($0.keys) }
        guard !self.unconfirmed.isEmpty else { return }
        self.timers.set(.requests, deadline: moment.now.advanced(by: self.session.lease))
    }

    /// What was not heard again counts as dropped.
    mutating func requestsExpected(at moment: Moment) -> [Action] {
        let lost = self.unconfirmed
        return lost.flatMap { id, clients in clients.flatMap { self.requested(nil, on: id, by: $0, at: moment) } }
    }

    /// Announced again at a random moment: brokers may not deliver retained messages to those who come.
    private mutating func announceSoon(_ id: TrackableID, at moment: Moment) {
        guard self.timers.deadline(of: .announce(id)) == nil else { return }
        let wait = Duration.milliseconds(Int.random(in: 0..<1000, using: &self.random))
        self.timers.set(.announce(id), deadline: moment.now.advanced(by: wait))
    }

    mutating func requested(
        _ request: ResolutionRequest?, on id: TrackableID, by client: ClientID, at moment: Moment
    ) -> [Action] {
        guard self.assets[id] != nil else { return [] }
        self.unconfirmed[id]?.remove(client)
        guard let request else {
            let sessions = (self.requests[id]?.removeValue(forKey: client) ?? [:]).keys
            return self.reconsider(id, sessions.map { .requestDropped(SubscriberID(client: client, session: $0)) })
        }
        let subscriber = SubscriberID(client: client, session: request.session)
        guard self.makeRoom(for: client, on: id) else { return [] }
        // A client has one standing request; that of an earlier session counts only while it is still present.
        let standing = (self.requests[id]?[client] ?? [:]).filter {
            self.isPresent(SubscriberID(client: client, session: $0.key), on: id)
        }
        self.requests[id, default: [:]][client] = standing.merging([request.session: request.resolution]) { $1 }
        // From someone not present it takes effect when that presence arrives.
        guard self.isPresent(subscriber, on: id) else { return [] }
        return self.reconsider(id, [.requestMade(subscriber, request.resolution)])
    }

    /// Asked in place: an asset that is held while it changes makes the change copy everyone's requests.
    private func isPresent(_ subscriber: SubscriberID, on id: TrackableID) -> Bool {
        self.assets[id]?.funnel.subscribers.contains(subscriber) == true
    }

    /// Whether a request of this client can be taken in; those of clients that are gone make way.
    private mutating func makeRoom(for client: ClientID, on id: TrackableID) -> Bool {
        let requests = self.requests[id] ?? [:]
        guard requests[client] == nil, requests.count >= Self.maximumRequests else { return true }
        guard !self.crowded.contains(id) else { return false }
        let present = Set(self.presence.members(of: .subscriber, on: id).map(\.client))
        self.requests[id] = requests.filter { present.contains($0.key) }
        guard self.requests[id]?.count ?? 0 < Self.maximumRequests else {
            self.crowded.insert(id)
            return false
        }
        return true
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
        return actions + self.states(reason: error)
    }
}
