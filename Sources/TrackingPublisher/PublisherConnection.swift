import TrackingCore

/// The publisher as a member on its connection: session, presences of other members, outstanding publishes, and
/// retained messages that are to be cleared.
struct PublisherConnection: Sendable {
    /// The message or subscription that an answer of the broker belongs to.
    enum Purpose: Hashable, Sendable {
        /// The first subscription of a connection: three filters or more for each of these trackables, in this order.
        case connecting([TrackableID])
        /// The last subscription of a connection: its answer follows every retained message. `leftTo` are trackables
        /// that are not tracked, and whose publishers were asked for.
        case settling([TrackableID], leftTo: [TrackableID])
        /// The subscription of a trackable.
        case adding(TrackableID)
        /// A subscription whose answer follows every retained message of this trackable.
        case entering(TrackableID)
        /// The command topics of these trackables, in this order.
        case commands([TrackableID])
        /// A message about a trackable.
        case trackable(TrackableID, TrackableStateMachine.Publication)
        /// A message that clears this topic.
        case clearing(Topic)
        /// A message or subscription whose answer changes nothing.
        case other
    }

    /// The program's session, and its announcement on this connection.
    var session: SessionStateMachine
    /// The presences of other members.
    var presence = PresenceStateMachine()
    /// The connection as callers see it.
    private(set) var link = PublisherSnapshot.Link()
    /// The reason why the broker rejects this device as a whole; `nil` while it does not, or is asked again.
    var rejection: TrackingError?
    /// The number of messages that could not be decoded.
    var badMessages = 0
    /// `true` after the connection was closed for good.
    private(set) var isClosed = false
    private let root: TopicRoot
    private var outstanding: [TransportToken: Purpose] = [:]
    private var lastToken: TransportToken = 0
    /// The topics to clear, with the token of the message that does; 0 before one was published. A topic whose
    /// clearing was not acknowledged when the connection is lost is cleared again on the next.
    private var unclear: [Topic: TransportToken] = [:]
    /// The clients whose liveness is subscribed to.
    private var watched: Set<ClientID> = []

    /// Starts without a connection.
    init(_ configuration: PublisherConfiguration) {
        self.session = SessionStateMachine(
            client: configuration.client, session: configuration.session, lease: configuration.lease)
        self.root = configuration.topicRoot
    }

    /// The next moment at which a heartbeat or a presence is due; `nil` where none is.
    var nextDeadline: MonotonicTime? { .earlier(self.session.nextDeadline, self.presence.nextDeadline) }

    /// `true` while there is no connection.
    var isOffline: Bool { if case .offline = self.session.phase { true } else { false } }

    /// The filter of the own liveness.
    var ownLiveness: TopicFilter { .topic(.liveness(self.session.client)) }

    /// The other publishers of a trackable.
    func others(on id: TrackableID) -> OtherPublishers {
        OtherPublishers(presences: self.presence.standingPublishers(on: id), owner: self.presence.owner(of: id))
    }

    // MARK: - Connection

    /// A connection was made.
    mutating func connected(_ connection: Int, at moment: Moment) {
        self.rejection = nil
        self.link = .init(isUp: true, since: moment.wall)
        self.session.connected(connection: connection)
        self.presence.connected(now: moment.now)
    }

    /// The connection was lost, or could not be made.
    mutating func disconnected(_ disconnection: Disconnection, at moment: Moment) {
        self.link = .init(
            isUp: false, since: self.link.isUp ? moment.wall : self.link.since ?? moment.wall,
            reason: disconnection.reason?.message ?? self.link.reason)
        self.session.disconnected()
        self.presence.disconnected()
        self.outstanding = [:]
        self.isClosed = disconnection.retry == nil
        if let failure = disconnection.failure { self.rejection = failure.isIdentityRefusal ? failure : nil }
    }

    // MARK: - Receiving

    /// The topic of a message; `nil` where it is not under the root.
    func topic(of message: IncomingMessage) -> Topic? { self.root.topic(message.topic) }

    /// Decodes a presence.
    ///
    /// - Throws: `invalidPayload`, also where its kind is not that of the topic.
    static func presence(_ payload: ArraySlice<UInt8>?, _ kind: MemberKind) throws(TrackingError) -> Presence? {
        guard let payload else { return nil }
        let presence = try MessageCodec.decodePresence(payload)
        guard presence.kind == kind else {
            throw TrackingError(
                .invalidPayload,
                "type is \(presence.kind.rawValue), but the topic is that of a \(kind.rawValue)")
        }
        return presence
    }

    /// Returns `true` where a presence is this session's own, on this connection.
    func isOwn(_ presence: Presence) -> Bool {
        presence.session == self.session.session && presence.connection == self.session.connection
    }

    /// Subscribes to the liveness of a client, or ends that.
    mutating func watch(_ client: ClientID, _ isWatched: Bool) -> PublisherStateMachine.Action {
        guard isWatched else {
            self.watched.remove(client)
            return self.unsubscribe([.topic(.liveness(client))])
        }
        self.watched.insert(client)
        return self.subscribe([.topic(.liveness(client))], .other)
    }

    /// The filters of every client whose liveness is subscribed to.
    var livenessFilters: [TopicFilter] { self.watched.map { .topic(.liveness($0)) } }

    /// Takes out the purpose of an answer; `nil` where the answer is to be ignored.
    mutating func answered(_ token: TransportToken) -> Purpose? { self.outstanding.removeValue(forKey: token) }

    /// The broker answered about the clearing of a topic.
    mutating func cleared(_ topic: Topic, _ token: TransportToken) {
        if self.unclear[topic] == token { self.unclear[topic] = nil }
    }

    /// Ignores the answers to messages for which `isIgnored` returns `true`.
    mutating func ignoreAnswers(where isIgnored: (Purpose) -> Bool) {
        self.outstanding = self.outstanding.filter { !isIgnored($0.value) }
    }

    // MARK: - Publishing

    /// Publishes a message.
    mutating func publish(
        _ topic: Topic, _ payload: [UInt8], _ purpose: Purpose = .other
    ) -> PublisherStateMachine.Action {
        let message = OutgoingMessage(
            topic: self.root.path(topic), payload: payload, isRetained: topic.isRetained)
        let token = self.token(payload.isEmpty ? .clearing(topic) : purpose)
        if payload.isEmpty || !self.unclear.isEmpty { self.unclear[topic] = payload.isEmpty ? token : nil }
        return .send([.publish(message, token)])
    }

    /// Publishes a message outside the topics of the root.
    mutating func publish(_ message: OutgoingMessage) -> PublisherStateMachine.Action {
        .send([.publish(message, self.token(.other))])
    }

    /// Publishes the own liveness.
    mutating func publishLiveness() -> PublisherStateMachine.Action {
        self.publish(.liveness(self.session.client), MessageCodec.encode(self.session.birth))
    }

    /// Publishes that this program ends.
    ///
    /// - Parameter isCleared: `true` where the retained liveness is cleared instead.
    mutating func publishGoodbye(isCleared: Bool) -> PublisherStateMachine.Action {
        let goodbye = SessionStateMachine.goodbye(
            session: self.session.session, connection: self.session.connection)
        return self.publish(.liveness(self.session.client), isCleared ? [] : MessageCodec.encode(goodbye))
    }

    /// Clears a retained message, on the next connection where there is none now.
    mutating func clear(_ topic: Topic) -> [PublisherStateMachine.Action] {
        guard self.session.isAnnounced else {
            self.unclear[topic] = 0
            return []
        }
        return [self.publish(topic, [])]
    }

    /// Clears the presence on a trackable, and the resolution where no other publisher may have published it.
    mutating func withdraw(_ id: TrackableID) -> [PublisherStateMachine.Action] {
        self.clear(.publisher(id, self.session.client))
            + (self.presence.standingPublishers(on: id).isEmpty ? self.clear(.resolution(id)) : [])
    }

    /// Clears every retained message whose clearing was not acknowledged. The order of the paths puts a presence
    /// before the resolution.
    mutating func clearAgain() -> [PublisherStateMachine.Action] {
        let topics = self.unclear.keys.map { (topic: $0, path: self.root.path($0)) }
        return topics.sorted { $0.path < $1.path }.flatMap { self.clear($0.topic) }
    }

    /// Another publisher owns the resolution's topic: it is not cleared.
    mutating func leaveResolution(of id: TrackableID) { self.unclear[.resolution(id)] = nil }

    /// The trackables whose resolution is still to be cleared.
    var unclearResolutions: [TrackableID] {
        self.unclear.keys.compactMap { if case .resolution(let id) = $0 { id } else { nil } }
    }

    /// Subscribes to filters.
    mutating func subscribe(_ filters: [TopicFilter], _ purpose: Purpose) -> PublisherStateMachine.Action {
        .send([.subscribe(filters.map { self.root.path($0) }, self.token(purpose))])
    }

    /// Ends subscriptions.
    func unsubscribe(_ filters: [TopicFilter]) -> PublisherStateMachine.Action {
        .send([.unsubscribe(filters.map { self.root.path($0) })])
    }

    private mutating func token(_ purpose: Purpose) -> TransportToken {
        self.lastToken += 1
        self.outstanding[self.lastToken] = purpose
        return self.lastToken
    }
}
