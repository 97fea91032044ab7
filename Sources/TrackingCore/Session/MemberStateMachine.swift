/// A member on a connection: the part that publisher, subscriber and recorder have in common
/// (docs/reference/protocol.md, "Members and leases").
///
/// It publishes the member's own liveness (birth, heartbeat, the answer to a stray goodbye, the orderly goodbye), finds
/// out whether another program took over the client id, follows the presence and liveness of other members, numbers the
/// requests to the broker and remembers the purpose of each, and clears retained messages until the broker has accepted
/// that. It touches no socket, clock or log.
///
/// A role holds one machine and forwards the connection's events to it:
///
/// | event of the connection | method | then |
/// |---|---|---|
/// | `.connected` | ``connected(_:now:)`` | the role subscribes, its ``ownLiveness`` in the last packet |
/// | `.subscribed`, `.published` | ``subscribed(_:)``, ``published(_:)`` | the role handles the purpose |
/// | answer to the last subscription | ``settled(now:)`` | the role announces itself, then calls ``clearAgain()`` |
/// | `.received` | ``received(_:now:)`` | the role handles the rest: its own topics, changes of members |
/// | `.disconnected` | ``disconnected(_:)`` | the role handles what was not answered |
/// | ``nextDeadline`` | ``timerFired(now:)`` | the role handles the events |
///
/// `Purpose` is the role's reason for a publish or a subscription.
package struct MemberStateMachine<Purpose: Hashable & Sendable>: Sendable {
    /// An action or a report that follows from a message or a deadline.
    package enum Event: Hashable, Sendable {
        /// Send these commands over the connection, in order.
        case send([TransportCommand])
        /// A member that was absent is now present on a trackable.
        case arrived(Member)
        /// A present member published another presence under the same session, for example after a reconnect.
        case changed(Member)
        /// A member that was present on a trackable is no longer present.
        case left(Member)
        /// The announcements that the role scheduled for these trackables are due. The role publishes the liveness once
        /// and then its presence on each of them.
        case announcementsDue([TrackableID])
        /// A received message was ignored, because it cannot be read or the maximum number of members is reached.
        case badMessage(topic: String, TrackingError)
    }

    /// The result of examining a message.
    package enum Reception: Hashable, Sendable {
        /// The message is not below the topic root.
        case foreign
        /// The message is on one of the role's topics, which decodes it.
        case role(Topic)
        /// A valid presence, or the clearing of one. The role calls ``note(_:now:)`` if it follows the trackable.
        case presence(ReceivedPresence)
        /// The member's own liveness, or a foreign message on its topic, arrived. These commands answer it.
        case ownLiveness([TransportCommand])
        /// The liveness of another client. `isLive` is `false` for retained and cleared messages.
        case liveness(of: ClientID, isLive: Bool, [Event])
    }

    /// The request that an answer of the broker belongs to.
    package enum Answer: Hashable, Sendable {
        /// The role (publisher, subscriber or recorder) made the request for this purpose.
        case role(Purpose)
        /// The machine itself published or cleared a message on this topic.
        case own(Topic)
        /// The machine itself subscribed to the liveness of a client.
        case liveness
    }

    /// The result of ``settled(now:)``, after the broker answered the last subscription of a connection.
    package enum Settlement: Hashable, Sendable {
        /// The liveness is published with these commands; the role announces itself next.
        case announced([TransportCommand])
        /// Another program uses the client id. The role fails and closes its connection without a message.
        case takenOver(TrackingError)
        /// There is no connection whose subscriptions are being answered.
        case notConnected
    }

    /// The topics of this system in the broker's tree.
    package let root: TopicRoot
    /// The member's own session: its liveness and the phase of its connection.
    package private(set) var session: SessionStateMachine
    /// The members of trackables that the role follows.
    package private(set) var presence = PresenceStateMachine()
    /// The clients whose liveness is subscribed.
    package private(set) var watched: Set<ClientID> = []
    /// `false` while the member hides its liveness, as a publisher does that is switched off.
    package var publishesLiveness = true
    /// `true` after the connection was closed for good. No event follows.
    package private(set) var isClosed = false
    /// The number of messages that were skipped because they cannot be read.
    package private(set) var badMessages = 0
    /// The topics on which a retained message of this member may remain that is to be cleared, each with the token of
    /// the publish that clears it; 0 before one was sent.
    @usableFromInline var unclear: [Topic: TransportToken] = [:]
    @usableFromInline var requests = OutstandingRequests<Answer>()
    private var announcements = Announcements()

    /// Makes a member that is not connected.
    ///
    /// - Parameters:
    ///   - configuration: The client id, the session and the topic root of the role.
    ///   - lease: The time for which others believe a heartbeat; limited to 1…86,400 s.
    package init(_ configuration: some MemberConfiguration, lease: Duration) {
        self.root = configuration.topicRoot
        self.session = SessionStateMachine(client: configuration.client, session: configuration.session, lease: lease)
    }

    /// The member's own client id.
    package var client: ClientID { self.session.client }

    /// The topic filter of the member's own liveness.
    package var ownLiveness: TopicFilter { .topic(.liveness(self.client)) }

    /// The filters of the liveness of all followed clients, to be subscribed on each connection.
    package var watchedLiveness: [TopicFilter] { self.watched.map { .topic(.liveness($0)) } }

    /// The time at which ``timerFired(now:)`` is to be called; `nil` when no heartbeat, lease or announcement is due.
    package var nextDeadline: MonotonicTime? {
        let next = MonotonicTime.earlier(self.session.nextDeadline, self.presence.nextDeadline)
        return .earlier(next, self.announcements.nextDeadline)
    }

    // MARK: - The connection

    /// Handles that the broker accepted the connection with this number. The role subscribes to all its topics now.
    /// ``ownLiveness`` must be among the filters of the last SUBSCRIBE packet, whose answer is followed by
    /// ``settled(now:)``.
    package mutating func connected(_ connection: Int, now: MonotonicTime) {
        self.session.connected(connection: connection)
        self.presence.connected(now: now)
    }

    /// Handles that the connection was lost or could not be made.
    ///
    /// - Returns: The purposes of the role's requests that the broker did not answer, in the order of the requests.
    package mutating func disconnected(_ disconnection: Disconnection) -> [Purpose] {
        self.session.disconnected()
        self.presence.disconnected()
        self.announcements.cancelAll()
        self.isClosed = disconnection.retry == nil
        return self.requests.removeAll().compactMap { if case .role(let purpose) = $0 { purpose } else { nil } }
    }

    /// Handles that the broker answered the last subscription of a connection, so that all retained messages were
    /// received.
    ///
    /// - Returns: The commands that publish the liveness, after which the role publishes its presences and requests and
    ///   calls ``clearAgain()``; or an error if another program uses the client id.
    package mutating func settled(now: MonotonicTime) -> Settlement {
        if self.session.settled(now: now) { return .announced(self.publishLiveness()) }
        guard case .takenOver = self.session.phase else { return .notConnected }
        return .takenOver(
            TrackingError(
                .takenOver,
                "another program uses the client id '\(self.client)'; give each program a client id of its own"))
    }

    /// Returns the command that publishes the member's liveness; none while the member hides it.
    package mutating func publishLiveness() -> [TransportCommand] {
        guard self.publishesLiveness else { return [] }
        return [self.publish(own: .liveness(self.client), MessageCodec.encode(self.session.birth))]
    }

    /// Returns the command that publishes the orderly farewell, an offline liveness. Only the command `close` follows
    /// it.
    ///
    /// - Parameter isClientRandom: `true` clears the retained liveness instead, because no later run uses the client
    ///   id.
    package mutating func publishGoodbye(isClientRandom: Bool = false) -> TransportCommand {
        let goodbye = SessionStateMachine.goodbye(session: self.session.session, connection: self.session.connection)
        return self.publish(own: .liveness(self.client), isClientRandom ? [] : MessageCodec.encode(goodbye))
    }

    /// Publishes the heartbeat if it is due, and reports the announcements that are due and the members whose lease has
    /// ended. The call has no effect before ``nextDeadline``.
    package mutating func timerFired(now: MonotonicTime) -> [Event] {
        var events = self.apply(self.presence.timerFired(now: now))
        if self.session.timerFired(now: now), self.publishesLiveness { events.append(.send(self.publishLiveness())) }
        let due = self.announcements.popDue(now: now)
        if !due.isEmpty, self.session.isAnnounced { events.append(.announcementsDue(due)) }
        return events
    }

    // MARK: - Requests to the broker

    /// Returns the command that subscribes to topic filters below the topic root.
    @inlinable
    package mutating func subscribe(_ filters: [TopicFilter], _ purpose: Purpose) -> TransportCommand {
        self.subscribe(filters.map { self.root.path($0) }, purpose)
    }

    /// Returns the command that subscribes to full topic paths, such as the broker's own `$SYS` topics.
    @inlinable
    package mutating func subscribe(_ paths: [String], _ purpose: Purpose) -> TransportCommand {
        .subscribe(paths, self.requests.add(.role(purpose)))
    }

    /// Returns the command that ends subscriptions to filters of this system. The broker's answer has no effect.
    package func unsubscribe(_ filters: [TopicFilter]) -> TransportCommand {
        .unsubscribe(filters.map { self.root.path($0) })
    }

    /// Returns the command that publishes a message of the role. If the topic was to be cleared, it is not cleared any
    /// more. Use ``clear(_:)`` for empty payloads.
    @inlinable
    package mutating func publish(_ topic: Topic, _ payload: [UInt8], _ purpose: Purpose) -> TransportCommand {
        self.publish(topic, payload, answer: .role(purpose))
    }

    /// Returns the command that publishes a message on any topic, for example the response topic of a request.
    package mutating func publish(_ message: OutgoingMessage, _ purpose: Purpose) -> TransportCommand {
        .publish(message, self.requests.add(.role(purpose)))
    }

    /// Handles the broker's answer to a subscription.
    ///
    /// - Returns: The role's purpose of the subscription; `nil` for a request that was withdrawn or that the machine
    ///   itself made.
    @inlinable
    package mutating func subscribed(_ token: TransportToken) -> Purpose? {
        if case .role(let purpose) = self.requests.remove(token) { purpose } else { nil }
    }

    /// Handles that the broker accepted or refused a publish. If the publish cleared a topic, the clearing is complete.
    ///
    /// - Returns: The request that was answered; `nil` for a request that was withdrawn.
    @inlinable
    package mutating func published(_ token: TransportToken) -> Answer? {
        let answer = self.requests.remove(token)
        if case .own(let topic) = answer, self.unclear[topic] == token { self.unclear[topic] = nil }
        return answer
    }

    /// Withdraws the role's requests whose purposes fulfil a condition: the broker's answers to them are ignored.
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

    /// The topics on which a retained message of this member may remain that is to be cleared.
    package var uncleared: some Sequence<Topic> { self.unclear.keys }

    /// Clears a retained message: now if the member is announced, otherwise on the next connection. A connection that
    /// is lost before the broker's answer may have lost the publish too; then ``clearAgain()`` repeats it.
    package mutating func clear(_ topic: Topic) -> [TransportCommand] {
        guard self.session.isAnnounced else {
            self.unclear[topic] = 0
            return []
        }
        return [self.publish(own: topic, [])]
    }

    /// Clears all retained messages that are to be cleared, except those whose clearing was sent and is not answered
    /// yet. Call it after the role has announced itself; announcing ends the clearing of topics that are in use again.
    /// Topics are cleared in the order of their paths.
    package mutating func clearAgain() -> [TransportCommand] {
        let topics = self.unclear.filter { !self.requests.contains($0.value) }.keys
            .map { (topic: $0, path: self.root.path($0)) }
        return topics.sorted { $0.path < $1.path }.flatMap { self.clear($0.topic) }
    }

    /// Stops clearing a topic, because another member publishes there now.
    package mutating func abandonClearing(of topic: Topic) { self.unclear[topic] = nil }

    // MARK: - Members and their messages

    /// Examines a received message, and handles it if it is about liveness.
    ///
    /// - Throws: The error of a presence or liveness message that cannot be read. The role then calls
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
        case .location, .raw, .history, .trip, .event, .resolution, .request, .ack, .command, .answer:
            return .role(topic)
        }
    }

    /// Handles a message on the topic of the member's own liveness; `nil` when the topic was cleared.
    ///
    /// - Returns: The commands that publish the liveness again, if an offline message has replaced it.
    package mutating func receivedOwn(_ liveness: Liveness?, isRetained: Bool) -> [TransportCommand] {
        self.session.receivedOwn(liveness, isRetained: isRetained) ? self.publishLiveness() : []
    }

    /// Processes a presence of another client on a trackable that the role follows. Do not pass a presence with the
    /// member's own client id.
    package mutating func note(_ received: ReceivedPresence, now: MonotonicTime) -> [Event] {
        self.apply(
            self.presence.received(
                received.presence, kind: received.kind, on: received.trackable, from: received.client,
                isRetained: received.isRetained, now: now))
    }

    /// Forgets the members of a trackable that the role does not follow any more. The members are not reported as left.
    package mutating func forget(_ trackable: TrackableID) -> [Event] {
        self.announcements.cancel(trackable)
        return self.apply(self.presence.forget(trackable))
    }

    /// Schedules an announcement of this member on a trackable, at a random time within a second, because another
    /// member arrived there.
    package mutating func announceSoon(
        _ trackable: TrackableID, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) {
        self.announcements.schedule(trackable, now: now, using: &generator)
    }

    /// Cancels the scheduled announcement of this member on a trackable.
    package mutating func cancelAnnouncement(on trackable: TrackableID) { self.announcements.cancel(trackable) }

    /// Counts a message that cannot be read, and returns the report of it.
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
                    .refused, "cannot follow client '\(client)': the maximum number of members is followed already")
                return .badMessage(topic: self.root.path(.liveness(client)), error)
            case .arrived(let member): return .arrived(member)
            case .changed(let member): return .changed(member)
            case .left(let member): return .left(member)
            }
        }
    }
}
