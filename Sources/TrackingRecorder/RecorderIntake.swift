import TrackingCore

/// The state of a recorder's intake connection, which receives the messages to store: the messages received on it, and
/// the subscriptions that the broker rejects.
struct RecorderIntake: Sendable {
    /// The token of all subscribe commands of the intake connection. At most one of them awaits the broker's answer.
    private static let token: TransportToken = 1

    /// The number of the present or last intake connection, counted from 0; -1 before the first one.
    private(set) var connection = -1
    /// The number of messages received on the present intake connection.
    private(set) var received = 0
    /// `true` once the intake connection is closed and will not be made again.
    private(set) var isClosed = false
    private var subscribed: [String] = []
    private var refusals = FilterRefusals<String>()
    private var lastReceived = UnixTime(-.infinity)

    /// The time of the next attempt to subscribe to the filters that the broker rejected; `nil` if no attempt is
    /// scheduled.
    var retryAt: MonotonicTime? { self.refusals.retryAt }

    /// The intake connection was made.
    ///
    /// - Parameters:
    ///   - connection: The number of the connection.
    ///   - filters: The topic filters to subscribe to.
    /// - Returns: The command that subscribes to the filters.
    mutating func connected(_ connection: Int, filters: [String]) -> TransportCommand {
        self.connection = connection
        self.received = 0
        self.refusals = FilterRefusals()
        return self.subscribe(filters)
    }

    /// The intake connection was lost or could not be made.
    mutating func disconnected(_ disconnection: Disconnection) {
        self.isClosed = disconnection.retry == nil
        self.refusals = FilterRefusals()
    }

    /// A message arrived on the intake connection.
    ///
    /// - Parameter wall: The time of arrival by the wall clock.
    /// - Returns: The time of receipt to store with the message. It is later than that of the message before, because
    ///   the messages of a topic have an order. Only after the wall clock was set back by more than a second, the new,
    ///   earlier time is used.
    mutating func messageArrived(at wall: UnixTime) -> UnixTime {
        self.received += 1
        let last = self.lastReceived.seconds
        let isBehind = (0..<1).contains(last - wall.seconds)
        self.lastReceived = isBehind ? UnixTime(max(last + 1e-6, last.nextUp)) : wall
        return self.lastReceived
    }

    /// The broker answered the subscribe command of the intake connection.
    ///
    /// - Parameter refusals: The reason of each rejected filter, in the order of the command; `nil` for a granted
    ///   filter.
    /// - Returns: The filters that are rejected now and were not rejected before, with the reasons.
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

    /// Returns the command that subscribes to the rejected filters again; `nil` before ``retryAt``.
    mutating func retryDue(now: MonotonicTime) -> TransportCommand? {
        let filters = self.refusals.retryDue(now: now)
        return filters.isEmpty ? nil : self.subscribe(filters.sorted())
    }

    private mutating func subscribe(_ filters: [String]) -> TransportCommand {
        self.subscribed = filters
        return .subscribe(filters, Self.token)
    }
}
