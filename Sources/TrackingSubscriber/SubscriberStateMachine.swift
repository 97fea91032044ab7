public import TrackingCore

/// What a subscriber says on its connection and makes of what it hears. Touches no socket, clock or log.
public struct SubscriberStateMachine: Sendable {
    /// What happened.
    public enum Event: Hashable, Sendable {
        /// On the connection.
        case transport(TransportEvent)
        /// The caller wants to watch this, asking for a resolution or not.
        case watch(TrackableID, Resolution?)
        /// The caller does not want to watch this any more.
        case unwatch(TrackableID)
        /// The caller asks for another resolution, or drops its request (`nil`).
        case request(TrackableID, Resolution?)
        /// The caller tells everyone of something that happened; answered under this number.
        case publish(TrackingEvent, of: TrackableID, request: UInt64)
        /// Take leave and close.
        case stop
        /// The next deadline came.
        case timer
    }

    /// What is to be done about it.
    public enum Action: Hashable, Sendable {
        /// Give these to the connection, in order.
        case send([TransportCommand])
        /// Tell the caller.
        case tell(SubscriberEvent)
        /// Tell the caller whether the broker took what was published under this number, or why not.
        case published(request: UInt64, TrackingError?)
    }

    enum Purpose: Hashable, Sendable {
        case settle([TopicFilter])
        /// Of what is subscribed to on connecting, all but the last packet.
        case part([TopicFilter])
        case watching(TrackableID)
        /// What was refused before.
        case refused([TopicFilter])
        /// Something of its own is said there.
        case saying(Topic)
        /// An event of the caller's, by its number.
        case telling(UInt64)
        case other
    }

    enum Timer: Hashable, Sendable {
        case stale(TrackableID)
        case unheard(TrackableID)
        case announce(TrackableID)
        case retry
        case kept
    }

    let configuration: SubscriberConfiguration
    var random: SplitMix64
    var session: SessionStateMachine
    var presence = PresenceStateMachine()
    var assets: [TrackableID: WatchedAsset] = [:]
    var outstanding: [TransportToken: Purpose] = [:]
    var timers = DeadlineQueue<Timer>()
    var watched: Set<ClientID> = []
    var failure: TrackingError?
    var isStopping = false
    /// Where something of its own may stand that is to go, with the number of the message that clears it; 0 before one was sent.
    /// What the broker has not taken when a connection is lost is sent again on the next.
    var unclear: [Topic: TransportToken] = [:]
    /// Of what something was asked in this session: somebody may remember it, also where it was dropped since.
    var asked: Set<TrackableID> = []
    /// Watched by name, and no message about it came yet; told once.
    var unheard: Set<TrackableID> = []
    /// What the broker refuses on this connection.
    var refused: [TopicFilter: TrackingError] = [:]
    /// Where the broker refuses what this side says on this connection, as told.
    var refusedTopics: Set<Topic> = []
    /// When it last meant to announce itself again; `nil` while it never did.
    var nextAnnouncement: MonotonicTime?
    /// When room for one more trackable is looked for again; `nil` while it was not looked for.
    var nextRoom: MonotonicTime?
    /// How long the last refusal was waited for; `nil` when nothing is refused.
    var lastWait: Duration?
    /// Of whom a position came on this connection; `nil` once that was told.
    var kept: Set<TrackableID>?
    private var lastToken: TransportToken = 0
    /// The messages that the broker dropped; only where ``SubscriberConfiguration/readsBrokerDrops``.
    public internal(set) var brokerDrops = BrokerDrops()
    /// How many messages could not be read.
    public internal(set) var badMessages = 0

    /// Starts a subscriber that watches nothing and is not connected.
    ///
    /// - Parameter seed: What random moments are drawn from.
    public init(configuration: SubscriberConfiguration, seed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
        self.session = SessionStateMachine(
            client: configuration.client, session: configuration.session, lease: configuration.lease)
    }

    /// When `timer` is to happen; `nil` when never.
    public var nextDeadline: MonotonicTime? {
        guard !self.isStopping else { return nil }
        return .earlier(.earlier(self.session.nextDeadline, self.presence.nextDeadline), self.timers.next)
    }

    /// Whether the connection was closed for good: nothing will happen any more.
    public internal(set) var isClosed = false

    /// Whether it is connected, and the broker answered for everything that was to be heard then.
    public var isSettled: Bool { self.session.isAnnounced }

    /// The trackables that are watched.
    public var trackables: [TrackableID] { Array(self.assets.keys) }

    /// When the next update of a trackable is due if it moves; `nil` while none is expected.
    public func nextExpected(_ id: TrackableID) -> MonotonicTime? { self.assets[id]?.nextExpected }

    /// The one entrance: what happened, and when.
    public mutating func happened(_ event: Event, at moment: Moment) -> [Action] {
        // Nothing is said after the goodbye.
        guard !self.isStopping else {
            if case .publish(_, _, let request) = event { return [Self.notPublished(request)] }
            guard case .transport(.disconnected(let disconnection)) = event else { return [] }
            return self.disconnected(disconnection)
        }
        var actions: [Action] = []
        switch event {
        case .transport(let event): actions = self.happened(event, at: moment)
        case .watch(let id, let request): actions += self.watch(id, request, at: moment)
        case .unwatch(let id): actions += self.unwatch(id)
        case .request(let id, let resolution): actions += self.ask(id, resolution, at: moment)
        case .publish(let event, let id, let request): actions.append(self.publish(event, of: id, request))
        case .stop: actions += self.stop()
        case .timer: break
        }
        return actions + self.timersFired(at: moment)
    }

    mutating func token(_ purpose: Purpose) -> TransportToken {
        self.lastToken += 1
        self.outstanding[self.lastToken] = purpose
        return self.lastToken
    }

    mutating func subscribe(_ filters: [TopicFilter], _ purpose: Purpose) -> Action {
        let paths = filters.map { self.configuration.topicRoot.path($0) }
        return .send([.subscribe(paths, self.token(purpose))])
    }

    mutating func publish(_ topic: Topic, _ payload: [UInt8]) -> Action {
        let message = OutgoingMessage(
            topic: self.configuration.topicRoot.path(topic), payload: payload, isRetained: topic.isRetained)
        let token = self.token(.saying(topic))
        self.unclear[topic] = payload.isEmpty ? token : nil
        return .send([.publish(message, token)])
    }

    /// Clears what stands there, on the next connection where nothing can be said now.
    mutating func clear(_ topic: Topic) -> [Action] {
        guard self.session.isAnnounced else {
            self.unclear[topic] = 0
            return []
        }
        return [self.publish(topic, [])]
    }

    /// What is to be cleared and not known to be, unless that was said just now. By name: so a request goes before the presence.
    mutating func clearAgain() -> [Action] {
        let topics = self.unclear.filter { self.outstanding[$0.value] == nil }.keys
            .map { (topic: $0, path: self.configuration.topicRoot.path($0)) }
        return topics.sorted { $0.path < $1.path }.flatMap { self.clear($0.topic) }
    }

    /// What a watcher listens to about one trackable.
    func filters(_ id: TrackableID) -> [TopicFilter] {
        let raw: [Topic] = self.configuration.wantsRaw ? [.raw(id)] : []
        let recorded: [Topic] = self.configuration.wantsRecorded ? [.history(id)] : []
        let topics = [.resolution(id), .location(id)] + raw + [.trip(id), .event(id)] + recorded
        return [.publishers(id)] + topics.map(TopicFilter.topic)
    }

    /// What a watcher of everything listens to.
    var filtersForAll: [TopicFilter] {
        let raw: [TopicFilter] = self.configuration.wantsRaw ? [.everyRaw] : []
        let recorded: [TopicFilter] = self.configuration.wantsRecorded ? [.everyHistory] : []
        return [.everyPublisher, .everyResolution, .everyLocation] + raw + [.everyTrip, .everyEvent] + recorded
    }
}
