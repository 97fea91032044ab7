import TrackingCore

/// The intake connection of a recorder: the messages received on it, and the subscriptions that the broker refuses.
struct RecorderIntake: Sendable {
    /// The token of all subscriptions. At most one subscription awaits an answer.
    private static let token: TransportToken = 1

    /// The number of the connection; -1 before the first one.
    private(set) var connection = -1
    /// The number of messages received on this connection.
    private(set) var received = 0
    /// `true` once the connection is closed for good.
    private(set) var isClosed = false
    private var subscribed: [String] = []
    private var refusals = FilterRefusals<String>()
    private var lastReceived = UnixTime(-.infinity)

    /// The time of the next attempt to subscribe to refused filters; `nil` if none is scheduled.
    var retryAt: MonotonicTime? { self.refusals.retryAt }

    /// The connection was made.
    ///
    /// - Returns: The command that subscribes to the filters.
    mutating func connected(_ connection: Int, filters: [String]) -> TransportCommand {
        self.connection = connection
        self.received = 0
        self.refusals = FilterRefusals()
        return self.subscribe(filters)
    }

    /// The connection was lost or could not be made.
    mutating func disconnected(_ disconnection: Disconnection) {
        self.isClosed = disconnection.retry == nil
        self.refusals = FilterRefusals()
    }

    /// A message arrived.
    ///
    /// - Returns: The time under which it is stored. Messages of one moment get distinct times, because the messages of
    ///   a topic have an order. After a clock was set back by more than a second, its time counts.
    mutating func messageArrived(at wall: UnixTime) -> UnixTime {
        self.received += 1
        let last = self.lastReceived.seconds
        let isBehind = (0..<1).contains(last - wall.seconds)
        self.lastReceived = isBehind ? UnixTime(max(last + 1e-6, last.nextUp)) : wall
        return self.lastReceived
    }

    /// The broker answered a subscription.
    ///
    /// - Returns: The filters that were not refused before, with the reasons.
    mutating func answered(
        _ refusals: [TrackingError?], now: MonotonicTime
    ) -> [(filter: String, reason: TrackingError)] {
        var new: [(filter: String, reason: TrackingError)] = []
        for (filter, refusal) in zip(self.subscribed, refusals) {
            if let refusal, self.refusals[filter] == nil { new.append((filter, refusal)) }
            self.refusals.answered(filter, refusal)
        }
        self.refusals.scheduleRetry(now: now)
        return new
    }

    /// Returns the command that subscribes to the refused filters again, if the time for that has come.
    mutating func retryDue(now: MonotonicTime) -> TransportCommand? {
        let filters = self.refusals.retryDue(now: now)
        return filters.isEmpty ? nil : self.subscribe(filters.sorted())
    }

    private mutating func subscribe(_ filters: [String]) -> TransportCommand {
        self.subscribed = filters
        return .subscribe(filters, Self.token)
    }
}
