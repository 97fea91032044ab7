import TrackingCore

/// The requests of subscribers, and the resolution in force.
extension PublisherStateMachine {
    // MARK: - Requests

    /// The most clients whose requests are remembered of one trackable.
    static let maximumRequests = 20_000

    /// Expects every known request again on this connection, because a request that was dropped during an outage causes no message.
    /// A request that still holds is retained by the broker, or its client repeats it on seeing this publisher arrive.
    mutating func expectRequests(at moment: Moment) {
        self.unconfirmed = self.requests.mapValues { Set($0.keys) }
        guard !self.unconfirmed.isEmpty else { return }
        self.timers.set(.requests, deadline: moment.now.advanced(by: self.session.lease))
    }

    /// Drops the requests that were not received again.
    mutating func requestsExpected(at moment: Moment) -> [Action] {
        let lost = self.unconfirmed
        return lost.flatMap { id, clients in clients.flatMap { self.requested(nil, on: id, by: $0, at: moment) } }
    }

    /// Receives a request. Above the limit of its client, the latest request waits, and is decoded when it takes effect.
    ///
    /// - Parameter payload: The request; empty where the client drops it.
    /// - Throws: `payloadTooLarge` above ``RequestLimiter/maximumBytes``, `invalidPayload` that names the member.
    mutating func received(
        request payload: ArraySlice<UInt8>, on id: TrackableID, by client: ClientID, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard self.assets[id] != nil else { return [] }
        guard payload.count <= RequestLimiter.maximumBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "a resolution request of \(payload.count) bytes is above the limit of \(RequestLimiter.maximumBytes) bytes"
            )
        }
        self.unconfirmed[id]?.remove(client)
        let sender = RequestLimiter.Sender(trackable: id, client: client)
        guard self.requestLimits.received(payload, from: sender, now: moment.now) else { return [] }
        return try self.requested(payload: payload, on: id, by: client, at: moment)
    }

    /// Puts waiting requests into effect.
    mutating func waitingRequestsDue(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for waiting in self.requestLimits.takeDue(now: moment.now) {
            let (id, client) = (waiting.sender.trackable, waiting.sender.client)
            do throws(TrackingError) {
                actions += try self.requested(payload: waiting.payload[...], on: id, by: client, at: moment)
            } catch {
                self.badMessages += 1
                actions.append(.badMessage(topic: self.configuration.topicRoot.path(.request(id, client)), error))
            }
        }
        return actions
    }

    private mutating func requested(
        payload: ArraySlice<UInt8>, on id: TrackableID, by client: ClientID, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        let request = try payload.isEmpty ? nil : MessageCodec.decodeRequest(payload)
        return self.requested(request, on: id, by: client, at: moment)
    }

    /// Puts a request into effect, or drops the client's request (`nil`).
    mutating func requested(
        _ request: ResolutionRequest?, on id: TrackableID, by client: ClientID, at moment: Moment
    ) -> [Action] {
        guard self.assets[id] != nil else { return [] }
        self.unconfirmed[id]?.remove(client)
        guard let request else {
            let sessions = (self.requests[id]?.removeValue(forKey: client) ?? [:]).keys
            return self.reconsider(
                id, sessions.map { .requestDropped(SubscriberID(client: client, session: $0)) }, at: moment)
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
        return self.reconsider(id, [.requestMade(subscriber, request.resolution)], at: moment)
    }

    /// `true` while the subscriber is present. Reads the asset in place: a copy that lives during a change makes the change copy
    /// all requests.
    private func isPresent(_ subscriber: SubscriberID, on id: TrackableID) -> Bool {
        self.assets[id]?.funnel.subscribers.contains(subscriber) == true
    }

    /// Returns `true` where there is room for a request of this client, after removing the requests of clients that are gone.
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

    // MARK: - The resolution in force

    /// Takes in changes of a trackable's conditions. A resolution changes in no other way; together the changes are one change.
    mutating func reconsider(_ id: TrackableID, _ changes: [ConditionChange], at moment: Moment) -> [Action] {
        self.assets[id]?.reconsider(changes, now: moment.now)
        return self.resolutionMayHaveChanged(id, at: moment)
    }

    /// Puts into effect a change that waited for the end of the pause after the last one.
    mutating func dampingEnded(of id: TrackableID, at moment: Moment) -> [Action] {
        self.assets[id]?.dampingEnded(now: moment.now)
        return self.resolutionMayHaveChanged(id, at: moment)
    }

    /// Passes on the resolution in force where it differs from the last one: to the source, the broker and the caller.
    mutating func resolutionMayHaveChanged(_ id: TrackableID, at moment: Moment) -> [Action] {
        var actions = self.sensorMayHaveChanged()
        guard let asset = self.assets[id], asset.failure == nil else {
            self.timers.remove(.resolution(id))
            return actions
        }
        let inForce = asset.inForce
        var deadline = asset.damper.nextDeadline
        if self.session.isAnnounced, asset.isSending, inForce != asset.published,
            asset.resolutionsUnderWay < Self.maximumResolutionsUnderWay
        {
            if self.assets[id]?.resolutionPause.begin(now: moment.now) == true {
                self.assets[id]?.published = inForce
                self.assets[id]?.resolutionsUnderWay += 1
                actions.append(self.publish(.resolution(id), MessageCodec.encode(inForce), .resolution(id)))
            } else {
                deadline = .earlier(deadline, asset.resolutionPause.end)
            }
        }
        self.timers.keep(.resolution(id), at: deadline)
        guard inForce != asset.told else { return actions }
        self.assets[id]?.told = inForce
        return actions + [.resolutionChanged(id, inForce)]
    }

    /// Passes the sensor resolution to the source where it differs from the last one.
    mutating func sensorMayHaveChanged() -> [Action] {
        // A constant sensor resolution depends on no trackable.
        if self.configuration.sensorResolution != nil, self.reports.isEmpty,
            self.sensor == self.configuration.sensorResolution
        {
            return []
        }
        let inForce = SensorResolution.finest(
            of: self.assets.values.filter { $0.failure == nil }.map(\.damper.current),
            default: self.configuration.defaultResolution, constant: self.configuration.sensorResolution)
        let next = self.reports.isEmpty ? inForce : inForce.atOnce
        guard next != self.sensor else { return [] }
        self.sensor = next
        return [.useSensorResolution(next)]
    }
}
