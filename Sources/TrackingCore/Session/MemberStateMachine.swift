/// A member on a connection: the part that publisher, subscriber and recorder have in common (docs/reference/protocol.md, "Who is there").
///
/// It publishes the member's own liveness (birth, heartbeat, the answer to a stray goodbye, the orderly goodbye), finds out
/// whether another program took over the client id, follows the presence and liveness of other members, numbers the requests to
/// the broker and remembers the purpose of each, and clears retained messages until the broker has accepted that. It touches no
/// socket, clock or log.
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
    /// The consequence of a message or a deadline.
    package enum Event: Hashable, Sendable {
        /// Give these to the connection, in order.
        case send([TransportCommand])
        /// A member is present that was not.
        case arrived(Member)
        /// A present member published other facts about itself under the same session, as after a reconnect.
        case changed(Member)
        /// A member is gone.
        case left(Member)
        /// The announcements that the role scheduled for these trackables are due. The role publishes the liveness once
        /// and then its presence on each of them.
        case announcementsDue([TrackableID])
        /// A message was skipped, because it cannot be read or there is no room for it.
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
        /// The member's own liveness, or a message in its place.
        case ownLiveness([TransportCommand])
        /// The liveness of another client. `isLive` is `false` for retained and cleared messages.
        case liveness(of: ClientID, isLive: Bool, [Event])
    }

    /// A request that the broker answered.
    package enum Answer: Hashable, Sendable {
        /// The role made it.
        case role(Purpose)
        /// The machine published or cleared its message on this topic.
        case own(Topic)
        /// The machine subscribed to the liveness of a client.
        case liveness
    }

    /// The result of settling.
    package enum Settlement: Hashable, Sendable {
        /// The liveness is published with these commands; the role announces itself next.
        case announced([TransportCommand])
        /// Another program uses the client id. The role fails and closes its connection without a message.
        case takenOver(TrackingError)
        /// The connection is not waiting to be settled.
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
    /// `false` while the member hides its liveness, as a publisher that is switched off.
    package var publishesLiveness = true
    /// `true` once the connection is closed for good: no event follows.
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

    /// The filter of the member's own liveness.
    package var ownLiveness: TopicFilter { .topic(.liveness(self.client)) }

    /// The filters of the liveness of all followed clients, to be subscribed on each connection.
    package var watchedLiveness: [TopicFilter] { self.watched.map { .topic(.liveness($0)) } }

    /// The time at which ``timerFired(now:)`` is to be called; `nil` for never.
    package var nextDeadline: MonotonicTime? {
        let next = MonotonicTime.earlier(self.session.nextDeadline, self.presence.nextDeadline)
        return .earlier(next, self.announcements.nextDeadline)
    }

    // MARK: - The connection

    /// The broker accepted the connection of this number. The role subscribes to all its topics now; ``ownLiveness``
    /// must be among the filters of the last packet, whose answer settles the connection.
    package mutating func connected(_ connection: Int, now: MonotonicTime) {
        self.session.connected(connection: connection)
        self.presence.connected(now: now)
    }

    /// The connection was lost or could not be made.
    ///
    /// - Returns: The purposes of the role's requests that the broker did not answer, in the order of the requests.
    package mutating func disconnected(_ disconnection: Disconnection) -> [Purpose] {
        self.session.disconnected()
        self.presence.disconnected()
        self.announcements.cancelAll()
        self.isClosed = disconnection.retry == nil
        return self.requests.removeAll().compactMap { if case .role(let purpose) = $0 { purpose } else { nil } }
    }

    /// The broker answered the last subscription of a connection, so the retained messages were received.
    ///
    /// - Returns: The commands that publish the liveness; the role publishes its presences and requests behind them and
    ///   calls ``clearAgain()``. An error if the client id was taken over.
    package mutating func settled(now: MonotonicTime) -> Settlement {
        if self.session.settled(now: now) { return .announced(self.publishLiveness()) }
        guard case .takenOver = self.session.phase else { return .notConnected }
        return .takenOver(
            TrackingError(
                .takenOver,
                "another program uses the client id '\(self.client)'; give each program a client id of its own"))
    }

    /// Publishes the liveness, where the member does not hide it.
    package mutating func publishLiveness() -> [TransportCommand] {
        guard self.publishesLiveness else { return [] }
        return [self.publish(own: .liveness(self.client), MessageCodec.encode(self.session.birth))]
    }

    /// Publishes the orderly goodbye. Only `close` follows it.
    ///
    /// - Parameter isClientRandom: `true` clears the liveness instead, because no later run uses the client id.
    package mutating func publishGoodbye(isClientRandom: Bool = false) -> TransportCommand {
        let goodbye = SessionStateMachine.goodbye(session: self.session.session, connection: self.session.connection)
        return self.publish(own: .liveness(self.client), isClientRandom ? [] : MessageCodec.encode(goodbye))
    }

    /// A deadline came, or another event: publishes the heartbeat that is due, and reports the announcements that are
    /// due and the members whose lease has ended.
    package mutating func timerFired(now: MonotonicTime) -> [Event] {
        var events = self.apply(self.presence.timerFired(now: now))
        if self.session.timerFired(now: now), self.publishesLiveness { events.append(.send(self.publishLiveness())) }
        let due = self.announcements.popDue(now: now)
        if !due.isEmpty, self.session.isAnnounced { events.append(.announcementsDue(due)) }
        return events
    }

    // MARK: - Requests to the broker

    /// Subscribes to filters of this system.
    @inlinable
    package mutating func subscribe(_ filters: [TopicFilter], _ purpose: Purpose) -> TransportCommand {
        self.subscribe(filters.map { self.root.path($0) }, purpose)
    }

    /// Subscribes to full paths, such as the broker's own topics.
    @inlinable
    package mutating func subscribe(_ paths: [String], _ purpose: Purpose) -> TransportCommand {
        .subscribe(paths, self.requests.add(.role(purpose)))
    }

    /// Ends subscriptions to filters of this system. The broker's answer has no effect.
    package func unsubscribe(_ filters: [TopicFilter]) -> TransportCommand {
        .unsubscribe(filters.map { self.root.path($0) })
    }

    /// Publishes a message of the role, which ends a clearing of the topic that was due. ``clear(_:)`` publishes empty
    /// payloads.
    @inlinable
    package mutating func publish(_ topic: Topic, _ payload: [UInt8], _ purpose: Purpose) -> TransportCommand {
        self.publish(topic, payload, answer: .role(purpose))
    }

    /// Publishes a message on any topic, which may be that of an answer.
    package mutating func publish(_ message: OutgoingMessage, _ purpose: Purpose) -> TransportCommand {
        .publish(message, self.requests.add(.role(purpose)))
    }

    /// The broker answered a subscription.
    ///
    /// - Returns: The role's purpose; `nil` for a request that was withdrawn or is the machine's own.
    @inlinable
    package mutating func subscribed(_ token: TransportToken) -> Purpose? {
        if case .role(let purpose) = self.requests.remove(token) { purpose } else { nil }
    }

    /// The broker accepted or refused a publish. Either ends the clearing of its topic.
    ///
    /// - Returns: The request that was answered; `nil` for one that was withdrawn.
    @inlinable
    package mutating func published(_ token: TransportToken) -> Answer? {
        let answer = self.requests.remove(token)
        if case .own(let topic) = answer, self.unclear[topic] == token { self.unclear[topic] = nil }
        return answer
    }

    /// Withdraws the role's requests that fulfil a condition: their answers are ignored.
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

    /// The topics on which a retained message may remain that is to be cleared.
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

    /// Clears all retained messages that are due, except those whose clearing is on its way. Call it after the role has
    /// announced itself, which ends the clearing of topics that are in use again. Topics are cleared in the order of
    /// their paths.
    package mutating func clearAgain() -> [TransportCommand] {
        let topics = self.unclear.filter { !self.requests.contains($0.value) }.keys
            .map { (topic: $0, path: self.root.path($0)) }
        return topics.sorted { $0.path < $1.path }.flatMap { self.clear($0.topic) }
    }

    /// Ends the clearing of a topic, because another member publishes there now.
    package mutating func abandonClearing(of topic: Topic) { self.unclear[topic] = nil }

    // MARK: - Members and their messages

    /// Examines a message and handles those about liveness.
    ///
    /// - Throws: The error of a presence or liveness that cannot be read; the role calls ``skipped(_:_:)``.
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

    /// The member's own liveness, or a message in its place, arrived; `nil` when it was cleared.
    ///
    /// - Returns: The commands that publish the liveness again, where a stray goodbye is in its place.
    package mutating func receivedOwn(_ liveness: Liveness?, isRetained: Bool) -> [TransportCommand] {
        self.session.receivedOwn(liveness, isRetained: isRetained) ? self.publishLiveness() : []
    }

    /// Counts a presence of another client on a trackable that the role follows. A presence under the own client id is
    /// not another member's and must not be given.
    package mutating func note(_ received: ReceivedPresence, now: MonotonicTime) -> [Event] {
        self.apply(
            self.presence.received(
                received.presence, kind: received.kind, on: received.trackable, from: received.client,
                isRetained: received.isRetained, now: now))
    }

    /// Forgets the members of a trackable that the role does not follow any more. No departures are reported.
    package mutating func forget(_ trackable: TrackableID) -> [Event] {
        self.announcements.cancel(trackable)
        return self.apply(self.presence.forget(trackable))
    }

    /// Schedules an announcement on a trackable at a random moment within a second, for a member that arrived.
    package mutating func announceSoon(
        _ trackable: TrackableID, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) {
        self.announcements.schedule(trackable, now: now, using: &generator)
    }

    /// Cancels the announcement on a trackable.
    package mutating func cancelAnnouncement(on trackable: TrackableID) { self.announcements.cancel(trackable) }

    /// Counts a message that cannot be read.
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
                    "cannot follow the presence of '\(client)': too many members are followed. Stop some of them.")
                return .badMessage(topic: self.root.path(.liveness(client)), error)
            case .arrived(let member): return .arrived(member)
            case .changed(let member): return .changed(member)
            case .left(let member): return .left(member)
            }
        }
    }
}
