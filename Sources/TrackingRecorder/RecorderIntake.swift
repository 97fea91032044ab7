import TrackingCore

/// The state of a recorder's intake connection, which receives the messages to store: the messages received on it, and
/// its subscriptions.
struct RecorderIntake: Sendable {
    /// The token of the subscribe commands of the recorder's own filters. The broker's answer to a command has the same
    /// token. At most one of these commands awaits its answer.
    private static let token: TransportToken = 1
    /// The token of the subscribe commands that request retained positions again which did not arrive. The broker's
    /// answer to such a command has the same token; the recorder ignores it.
    private static let askingToken: TransportToken = 2
    /// The token of the subscribe command with which a recorder of a group tests shared subscriptions. The broker's
    /// answer to the command has the same token.
    static let probeToken: TransportToken = 3

    private let configuration: RecorderConfiguration
    /// The number of the present or last intake connection, counted from 0; -1 before the first one.
    private(set) var connection = -1
    /// The number of messages that the recorder received on its present intake connection, the connection that receives
    /// records from the broker.
    private(set) var received = 0
    /// `true` once the intake connection is closed and will not be made again.
    private(set) var isClosed = false
    /// `true` if the recorder makes a shared subscription, with the other recorders of its group.
    private(set) var isShared: Bool
    private var subscribed: [String] = []
    private(set) var slices = SubscriptionSlices<TopicFilter>()
    private var positions = IntakePositions()
    private var refusals = FilterRefusals<String>()
    private var lastReceived = UnixTime(-.infinity)

    /// Creates the state of an intake connection that was not made yet.
    init(configuration: RecorderConfiguration) {
        self.configuration = configuration
        self.isShared = configuration.group != nil
    }

    /// The time at which the recorder must call ``timerFired(now:)``; `nil` while nothing is planned.
    var nextDeadline: MonotonicTime? {
        let slice = self.slices.deadline
        return self.slices.isComplete ? .earlier(self.refusals.retryAt, self.positions.gaps.nextDeadline) : slice
    }

    /// Handles that the intake connection was made, and begins to subscribe.
    ///
    /// - Parameter connection: The number of the connection.
    /// - Returns: The commands that subscribe to the first topic filters. A recorder of a group also subscribes for the
    ///   test of shared subscriptions.
    mutating func connected(_ connection: Int, now: MonotonicTime) -> [TransportCommand] {
        self.connection = connection
        self.received = 0
        self.refusals = FilterRefusals()
        return self.beginSlices(now: now) + (self.isShared ? [.subscribe([self.probeFilter], Self.probeToken)] : [])
    }

    /// Replaces the shared subscription by an ordinary one, for this and all later connections.
    ///
    /// - Returns: The commands that end the shared subscription and begin the ordinary one.
    mutating func beginPlain(now: MonotonicTime) -> [TransportCommand] {
        let shared = RecorderConfiguration.filters.map(self.path)
        self.isShared = false
        self.refusals = FilterRefusals()
        return [.unsubscribe(shared)] + self.beginSlices(now: now)
    }

    /// Returns the command that ends the subscription with which a recorder of a group tests shared subscriptions.
    func endProbe() -> TransportCommand { .unsubscribe([self.probeFilter]) }

    /// The filter with which the recorder tests if the broker delivers messages of shared subscriptions: a shared
    /// subscription of this recorder alone to its own liveness.
    private var probeFilter: String {
        let client = self.configuration.client
        return "$share/\(client)-probe/\(self.configuration.topicRoot.path(.liveness(client)))"
    }

    private mutating func beginSlices(now: MonotonicTime) -> [TransportCommand] {
        self.slices.begin(RecorderConfiguration.filters)
        // Many brokers send no retained messages for a shared subscription.
        if !self.isShared { self.positions.connected() }
        return self.subscribeNext(now: now)
    }

    private func path(_ filter: TopicFilter) -> String {
        let path = self.configuration.topicRoot.path(filter)
        return self.isShared ? self.configuration.group?.shared(path) ?? path : path
    }

    /// Handles that the intake connection was lost or could not be made.
    mutating func disconnected(_ disconnection: Disconnection) {
        self.isClosed = disconnection.retry == nil
        self.refusals = FilterRefusals()
        self.slices.disconnected()
        self.positions.disconnected()
    }

    /// Adds trackables of which the history contains a position. After the retained positions have arrived, the
    /// recorder asks the broker again for those of these trackables that are missing.
    mutating func expect(_ ids: [TrackableID], now: MonotonicTime) {
        self.positions.expect(ids, isComplete: self.slices.isComplete, now: now)
    }

    /// Handles that a message arrived on the intake connection, and determines its time of receipt.
    ///
    /// - Parameter moment: The time of arrival.
    /// - Returns: The time of receipt to store with the message. It is later than that of the message before, because
    ///   the messages of a topic have an order. Only if the wall clock was set back by a second or more, the new,
    ///   earlier time is used.
    mutating func messageArrived(_ message: IncomingMessage, at moment: Moment) -> UnixTime {
        self.received += 1
        if message.isRetained { self.slices.received(now: moment.now) }
        self.positions.received(message, root: self.configuration.topicRoot, now: moment.now)
        let wall = moment.wall
        let last = self.lastReceived.seconds
        let isBehind = (0..<1).contains(last - wall.seconds)
        self.lastReceived = isBehind ? UnixTime(max(last + 1e-6, last.nextUp)) : wall
        return self.lastReceived
    }

    /// Handles that retained messages were stored just now: the recorder waits longer for further ones. It acknowledges
    /// retained messages to the broker only when they are stored, and the broker may have waited for these
    /// acknowledgements before it sent more.
    mutating func retainedStored(now: MonotonicTime) { self.slices.received(now: now) }

    /// Handles the broker's answer to a subscribe command of the intake connection.
    ///
    /// - Parameter refusals: The reason of each rejected filter, in the order of the command; `nil` for a granted
    ///   filter.
    /// - Returns: The filters that are rejected now and were not rejected before, with the reasons.
    mutating func answered(
        _ token: TransportToken, _ refusals: [TrackingError?], now: MonotonicTime
    ) -> [(filter: String, reason: TrackingError)] {
        guard token == Self.token else { return [] }
        self.slices.answered(now: now)
        var new: [(filter: String, reason: TrackingError)] = []
        for (filter, refusal) in zip(self.subscribed, refusals) {
            if let refusal, self.refusals[filter] == nil { new.append((filter, refusal)) }
            self.refusals.answered(filter, refusal)
        }
        self.refusals.scheduleRetry(now: now)
        return new
    }

    /// Returns the commands that are due now: the next subscriptions, repeated subscriptions to filters that the broker
    /// rejected, and subscriptions that ask for missing positions again. Returns none before ``nextDeadline``.
    mutating func timerFired(now: MonotonicTime) -> [TransportCommand] {
        if self.slices.isQuiet(now: now) {
            if self.slices.isAllSent { self.positions.compare(now: now) }
            return self.subscribeNext(now: now)
        }
        guard self.slices.isComplete else { return [] }
        let filters = self.refusals.retryDue(now: now)
        return (filters.isEmpty ? [] : [self.subscribe(filters.sorted())]) + self.askAgain(now: now)
    }

    private mutating func subscribeNext(now: MonotonicTime) -> [TransportCommand] {
        let trackables = self.positions.count
        let packets = self.slices.next(now: now) { $0.retainedMessages(of: trackables) }
        return packets.map { self.subscribe($0.map(self.path)) }
    }

    private mutating func askAgain(now: MonotonicTime) -> [TransportCommand] {
        guard let round = self.positions.gaps.timerFired(now: now) else { return [] }
        let (ended, asked) = (self.paths(round.ended), self.paths(round.asked))
        return (ended.isEmpty ? [] : [.unsubscribe(ended)])
            + SubscriptionSlices<String>.packets(asked).map { .subscribe($0, Self.askingToken) }
    }

    private func paths(_ ids: [TrackableID]) -> [String] {
        ids.map { self.configuration.topicRoot.path(.location($0)) }
    }

    private mutating func subscribe(_ filters: [String]) -> TransportCommand {
        self.subscribed = filters
        return .subscribe(filters, Self.token)
    }
}
