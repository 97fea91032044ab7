/// The part of a publisher, subscriber or recorder that all three have in common (docs/reference/protocol.md, "Members
/// and leases"). It uses no socket, clock or log.
///
/// It publishes the client's own liveness, the retained message that shows if the client is online. It detects another
/// program with the same client id. It follows which other clients are present. It remembers the purpose of each
/// unanswered request to the broker. It also clears retained messages, and repeats a clearing on the next connections
/// until the broker has accepted or refused it.
///
/// The caller (publisher, subscriber or recorder) forwards the events of its connection:
///
/// | event of the connection | method | then |
/// |---|---|---|
/// | `.connected` | ``connected(_:broker:now:)`` | the caller subscribes, with ``ownLiveness`` in the last packet |
/// | `.subscribed`, `.published` | ``subscribed(_:)``, ``published(_:)`` | the caller handles the purpose |
/// | answer to the last subscription | ``settled(now:)`` | the caller announces itself, then calls ``clearAgain()`` |
/// | `.received` | ``received(_:now:)`` | the caller handles the rest: its own topics, changes of members |
/// | `.disconnected` | ``disconnected(_:)`` | the caller handles the unanswered requests |
/// | ``nextDeadline`` | ``timerFired(now:)`` | the caller handles the returned events |
///
/// `Purpose` is the caller's reason for a publish or a subscription.
package struct MemberStateMachine<Purpose: Hashable & Sendable>: Sendable {
    /// The topic prefix under which all topics of this system lie.
    package let root: TopicRoot
    /// The state of this client's own liveness: the current run, the connection, and the time of the next heartbeat.
    package private(set) var session: SessionStateMachine
    /// The publishers and subscribers that are present on the trackables that the caller follows.
    package private(set) var presence: PresenceStateMachine
    /// The other clients to whose liveness messages this client subscribes, to learn when they are gone.
    package private(set) var watched: Set<ClientID> = []
    /// `false` while this client does not publish its liveness, for example while a publisher is switched off.
    package var publishesLiveness = true
    /// The group of enhancers that this client's liveness announces; `nil` for a client without a group.
    package var group: EnhancerGroup?
    /// `true` after the connection ended for good: no further attempt to connect follows.
    package private(set) var isClosed = false
    /// The number of received messages that were skipped because they cannot be read.
    package private(set) var badMessages = 0
    /// The topics whose retained message is to be removed from the broker. Each has the token of the publish that
    /// removes it, or 0 before such a publish was sent.
    @usableFromInline var unclear: [Topic: TransportToken] = [:]
    @usableFromInline var requests = OutstandingRequests<Answer>()
    private var announcements = Announcements()

    /// Makes the state of a client that is not connected.
    ///
    /// - Parameters:
    ///   - configuration: The client id, the session and the topic root of the client.
    ///   - lease: The time for which other clients consider this one online after a heartbeat; limited to 1…86,400 s.
    ///   - presences: The maximum number of stored presence messages. Further ones are ignored.
    package init(
        _ configuration: some MemberConfiguration, lease: Duration,
        presences: Int = PresenceStateMachine.defaultLimit
    ) {
        self.presence = PresenceStateMachine(limit: presences)
        self.root = configuration.topicRoot
        self.session = SessionStateMachine(client: configuration.client, session: configuration.session, lease: lease)
    }

    /// The MQTT client id of this client.
    package var client: ClientID { self.session.client }

    /// The topic filter of this client's own liveness message.
    package var ownLiveness: TopicFilter { .topic(.liveness(self.client)) }

    /// The topic filters of the liveness messages of all followed clients. The client subscribes to them on each
    /// connection.
    package var watchedLiveness: [TopicFilter] { self.watched.map { .topic(.liveness($0)) } }

    /// The time at which the caller (publisher, subscriber or recorder) must call ``timerFired(now:)``. `nil` when
    /// nothing waits for a time: no heartbeat, no lease of another client, no announcement.
    package var nextDeadline: MonotonicTime? {
        let next = MonotonicTime.earlier(self.session.nextDeadline, self.presence.nextDeadline)
        return .earlier(next, self.announcements.nextDeadline)
    }

    // MARK: - The connection

    /// Handles that the broker accepted a connection, with its number in this run of the program. The caller then
    /// subscribes to all its topics. The last SUBSCRIBE packet must contain ``ownLiveness``. When the broker has
    /// answered that packet, the caller calls ``settled(now:)``.
    ///
    /// - Parameters:
    ///   - connection: The number of the connection in this run of the program, from 0.
    ///   - broker: The index of the broker's address in the client's list of addresses, from 0.
    ///   - now: The time on the monotonic clock.
    package mutating func connected(_ connection: Int, broker: Int, now: MonotonicTime) {
        self.session.connected(connection: connection, broker: broker)
        self.presence.connected(now: now)
    }

    /// Handles that the connection was lost or could not be made.
    ///
    /// - Returns: The purposes of the caller's requests that the broker did not answer, in the order of the requests.
    package mutating func disconnected(_ disconnection: Disconnection) -> [Purpose] {
        self.session.disconnected()
        self.presence.disconnected()
        self.announcements.cancelAll()
        self.isClosed = disconnection.retry == nil
        return self.requests.removeAll().compactMap { if case .role(let purpose) = $0 { purpose } else { nil } }
    }

    /// Handles that the broker answered the last subscription of a connection. By then, the broker has sent all
    /// messages that it retains for the subscribed topics, except those that it dropped.
    ///
    /// - Returns: The commands that publish the client's liveness, or an error if another program uses the client id.
    ///   After the commands, the caller publishes its presences and requests and calls ``clearAgain()``.
    package mutating func settled(now: MonotonicTime) -> Settlement {
        if self.session.settled(now: now) { return .announced(self.publishLiveness()) }
        guard case .takenOver = self.session.phase else { return .notConnected }
        return .takenOver(
            TrackingError(
                .takenOver,
                "another program uses the client id '\(self.client)'; give each program a client id of its own"))
    }

    /// Returns the command that publishes the client's liveness. Returns none while ``publishesLiveness`` is `false`.
    package mutating func publishLiveness() -> [TransportCommand] {
        guard self.publishesLiveness else { return [] }
        var birth = self.session.birth
        birth.group = self.group
        return [self.publish(own: .liveness(self.client), MessageCodec.encode(birth))]
    }

    /// Returns the command that publishes the client's orderly farewell: the liveness message "offline". Only the
    /// command `close` may follow it.
    ///
    /// - Parameter isClientRandom: `true` when no later run will use this client id. The retained liveness is then
    ///   cleared instead.
    package mutating func publishGoodbye(isClientRandom: Bool = false) -> TransportCommand {
        let goodbye = SessionStateMachine.goodbye(session: self.session.session, connection: self.session.connection)
        return self.publish(own: .liveness(self.client), isClientRandom ? [] : MessageCodec.encode(goodbye))
    }

    /// Handles that the time ``nextDeadline`` has come. The call has no effect before that time.
    ///
    /// - Returns: The command for a heartbeat, the announcements to repeat, and the clients that left because their
    ///   leases ended.
    package mutating func timerFired(now: MonotonicTime) -> [Event] {
        var events = self.apply(self.presence.timerFired(now: now))
        if self.session.timerFired(now: now), self.publishesLiveness { events.append(.send(self.publishLiveness())) }
        let due = self.announcements.popDue(now: now)
        if !due.isEmpty, self.session.isAnnounced { events.append(.announcementsDue(due)) }
        return events
    }

    // MARK: - Requests to the broker

    /// Returns the command that subscribes to these topic filters below the topic root, for this purpose of the caller.
    @inlinable
    package mutating func subscribe(_ filters: [TopicFilter], _ purpose: Purpose) -> TransportCommand {
        self.subscribe(filters.map { self.root.path($0) }, purpose)
    }

    /// Returns the command that subscribes to complete topic filters given as text, such as the broker's own `$SYS`
    /// topics.
    @inlinable
    package mutating func subscribe(_ paths: [String], _ purpose: Purpose) -> TransportCommand {
        .subscribe(paths, self.requests.add(.role(purpose)))
    }

    /// Returns the command that unsubscribes from these topic filters below the topic root. The broker's answer is
    /// ignored.
    package func unsubscribe(_ filters: [TopicFilter]) -> TransportCommand {
        .unsubscribe(filters.map { self.root.path($0) })
    }

    /// Returns the command that publishes a message of the caller. A scheduled clearing of the same topic is cancelled.
    /// For an empty payload, use ``clear(_:)``.
    @inlinable
    package mutating func publish(_ topic: Topic, _ payload: [UInt8], _ purpose: Purpose) -> TransportCommand {
        self.publish(topic, payload, answer: .role(purpose))
    }

    /// Returns the command that publishes a message on any topic, for example on the response topic of a request.
    package mutating func publish(_ message: OutgoingMessage, _ purpose: Purpose) -> TransportCommand {
        .publish(message, self.requests.add(.role(purpose)))
    }

    /// Handles that the broker answered a subscription.
    ///
    /// - Returns: The purpose for which the caller subscribed. `nil` when the caller withdrew the request, or did not
    ///   make it.
    @inlinable
    package mutating func subscribed(_ token: TransportToken) -> Purpose? {
        if case .role(let purpose) = self.requests.remove(token) { purpose } else { nil }
    }

    /// Handles that the broker accepted or refused a publish. If that publish cleared a topic, the topic counts as
    /// cleared, even if the broker refused it.
    ///
    /// - Returns: The sender of the publish, with its purpose; `nil` when the caller withdrew the request.
    @inlinable
    package mutating func published(_ token: TransportToken) -> Answer? {
        let answer = self.requests.remove(token)
        if case .own(let topic) = answer, self.unclear[topic] == token { self.unclear[topic] = nil }
        return answer
    }

    /// Withdraws the caller's unanswered requests whose purpose fulfils a condition. The broker's answers to them are
    /// ignored from then on.
    package mutating func withdrawRequests(where isWithdrawn: (Purpose) -> Bool) {
        self.requests.removeAll { if case .role(let purpose) = $0 { isWithdrawn(purpose) } else { false } }
    }

    @inlinable
    mutating func publish(_ topic: Topic, _ payload: [UInt8], answer: Answer) -> TransportCommand {
        let token = self.requests.add(answer)
        if payload.isEmpty || !self.unclear.isEmpty { self.unclear[topic] = payload.isEmpty ? token : nil }
        return .publish(
            OutgoingMessage(topic: self.root.path(topic), payload: payload, isRetained: topic.isRetained), token)
    }

    private mutating func publish(own topic: Topic, _ payload: [UInt8]) -> TransportCommand {
        self.publish(topic, payload, answer: .own(topic))
    }

    // MARK: - Clearing of retained messages

    /// The topics whose retained message is still to be removed from the broker.
    package var uncleared: some Sequence<Topic> { self.unclear.keys }

    /// Clears a topic: removes its retained message from the broker. This happens now if the client is announced, and
    /// otherwise on the next connection. If the connection is lost before the broker's answer, ``clearAgain()`` repeats
    /// the clearing.
    ///
    /// - Returns: The command that clears the topic now, if any.
    package mutating func clear(_ topic: Topic) -> [TransportCommand] {
        guard self.session.isAnnounced else {
            self.unclear[topic] = 0
            return []
        }
        return [self.publish(own: topic, [])]
    }

    /// Clears all topics that are still to be cleared, except those with a clearing that the broker has not answered
    /// yet. The caller calls this on each connection after it has announced itself.
    ///
    /// - Returns: The commands, in the order of the topic names.
    package mutating func clearAgain() -> [TransportCommand] {
        let topics = self.unclear.filter { !self.requests.contains($0.value) }.keys
            .map { (topic: $0, path: self.root.path($0)) }
        return topics.sorted { $0.path < $1.path }.flatMap { self.clear($0.topic) }
    }

    /// Cancels a clearing of a topic that is still to be done (see ``clear(_:)``), because another client publishes
    /// there now. The topic's retained message remains.
    package mutating func abandonClearing(of topic: Topic) { self.unclear[topic] = nil }

    // MARK: - Members and their messages

    /// Examines a received message, and handles it if it is a liveness message.
    ///
    /// - Throws: The error of a presence or liveness message that cannot be read. The caller then calls
    ///   ``skipped(_:_:)``.
    package mutating func received(_ message: IncomingMessage, now: MonotonicTime) throws(TrackingError) -> Reception {
        guard let topic = self.root.topic(message.topic) else { return .foreign }
        switch topic {
        case .liveness(let client):
            let liveness = message.payload.isEmpty ? nil : try MessageCodec.decodeLiveness(message.payload)
            guard client != self.client else {
                return .ownLiveness(self.receivedOwn(liveness, isRetained: message.isRetained))
            }
            let changes = self.presence.received(liveness, from: client, isRetained: message.isRetained, now: now)
            return .liveness(
                of: client, isLive: liveness != nil && !message.isRetained, self.apply(changes))
        case .publisher(let id, let client):
            return .presence(try ReceivedPresence(message, of: .publisher, on: id, from: client))
        case .subscriber(let id, let client):
            return .presence(try ReceivedPresence(message, of: .subscriber, on: id, from: client))
        case .location, .enhanced, .journey, .estimate, .raw, .history, .trip, .event, .resolution, .request, .ack,
            .command, .answer:
            return .role(topic)
        }
    }

    /// Handles a message on the topic of this client's own liveness. `liveness` is `nil` when the retained message was
    /// cleared.
    ///
    /// - Returns: The command that publishes the liveness "online" again, if the message wrongly replaced or cleared
    ///   it; otherwise no command.
    package mutating func receivedOwn(_ liveness: Liveness?, isRetained: Bool) -> [TransportCommand] {
        self.session.receivedOwn(liveness, isRetained: isRetained) ? self.publishLiveness() : []
    }

    /// Handles a presence message, by which another client announces that it tracks or watches a trackable. The caller
    /// passes only messages of other clients, on trackables that it follows.
    package mutating func note(_ received: ReceivedPresence, now: MonotonicTime) -> [Event] {
        self.apply(
            self.presence.received(
                received.presence, kind: received.kind, on: received.trackable, from: received.client,
                isRetained: received.isRetained, now: now))
    }

    /// Forgets the clients that are present on a trackable, because the caller no longer follows it. These clients are
    /// not reported as gone. Also cancels a scheduled announcement on the trackable.
    package mutating func forget(_ trackable: TrackableID) -> [Event] {
        self.announcements.cancel(trackable)
        return self.apply(self.presence.forget(trackable))
    }

    /// Schedules a repetition of this client's announcement on a trackable, because another client arrived there. The
    /// time is random within a second.
    package mutating func announceSoon(
        _ trackable: TrackableID, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) {
        self.announcements.schedule(trackable, now: now, using: &generator)
    }

    /// Cancels the scheduled repetition of this client's announcement on a trackable.
    package mutating func cancelAnnouncement(on trackable: TrackableID) { self.announcements.cancel(trackable) }

    /// Counts a received message that cannot be read, and returns the event that reports it.
    package mutating func skipped(_ topic: String, _ error: TrackingError) -> Event {
        self.badMessages += 1
        return .badMessage(topic: topic, error)
    }

    private mutating func apply(_ changes: [PresenceStateMachine.Change]) -> [Event] {
        changes.map { change in
            switch change {
            case .watch(let client):
                self.watched.insert(client)
                let path = self.root.path(.liveness(client))
                return .send([.subscribe([path], self.requests.add(.liveness))])
            case .unwatch(let client):
                self.watched.remove(client)
                return .send([self.unsubscribe([.topic(.liveness(client))])])
            case .full(let client):
                let error = TrackingError(
                    .refused,
                    "cannot follow the presence of client '\(client)': this program already follows as many clients as its limit allows. Watch fewer trackables with one program"
                )
                return .badMessage(topic: self.root.path(.liveness(client)), error)
            case .arrived(let member): return .arrived(member)
            case .changed(let member): return .changed(member)
            case .left(let member): return .left(member)
            }
        }
    }
}
