/// Sends the subscriptions of a new connection in slices, so that the retained messages of each slice fit into the
/// broker's queue for this client.
///
/// A broker sends the retained messages of a subscription at once. It queues those that the client has not
/// acknowledged, and drops those beyond its queue: Mosquitto by default those beyond 1000 on MQTT 3.1.1. The next slice
/// follows when no retained message has arrived for a short time.
///
/// | step | method |
/// |---|---|
/// | the connection was made | ``begin(_:)``, then ``next(now:retained:)`` |
/// | the broker answered a packet | ``answered(now:)`` |
/// | a retained message arrived | ``received(now:)`` |
/// | ``deadline`` | ``isQuiet(now:)``; if it returns `true`: ``next(now:retained:)`` |
package struct SubscriptionSlices<Filter: Hashable & Sendable>: Sendable {
    /// The phase of the slice of subscriptions that was sent last.
    private enum Phase: Hashable, Sendable {
        /// No slice of subscriptions is under way: none was sent on this connection, or the last one has ended.
        case idle
        /// The slice of subscriptions was sent at the time `at`. The broker has not yet answered `unanswered` of its
        /// SUBSCRIBE packets.
        case sent(at: MonotonicTime, unanswered: Int)
        /// The broker has answered all packets of the slice, and its retained messages arrive. The slice ends at
        /// `quietAt`, when no retained message has arrived for the time `pause`, and at `end` at the latest.
        case receiving(pause: Duration, quietAt: MonotonicTime, end: MonotonicTime)
    }

    /// The largest number of retained messages that one slice of subscriptions may cause. A single filter that may
    /// cause more is a slice by itself.
    package static var size: Int { 800 }
    /// The largest number of topic filters in one SUBSCRIBE packet. Brokers limit the size of a packet, and a filter
    /// can have 700 bytes.
    package static var filtersInPacket: Int { 200 }
    /// The shortest pause without a retained message after which a slice of subscriptions ends: 100 ms. The pause is
    /// four times as long as the broker took to answer the slice's subscriptions, but not shorter than this time and
    /// not longer than ``longestPause``.
    package static var shortestPause: Duration { .milliseconds(100) }
    /// The longest pause without a retained message after which a slice ends: 500 ms. This pause applies on a slow
    /// connection; see ``shortestPause``. A slice is the group of subscriptions that is sent together.
    package static var longestPause: Duration { .milliseconds(500) }
    /// The longest time for which the client waits for the retained messages of one slice after the broker's last
    /// answer: 5 s.
    package static var patience: Duration { .seconds(5) }

    private var phase = Phase.idle
    private var waiting: ArraySlice<Filter> = []

    /// Makes the state of a client before its first connection: no topic filter waits to be sent to the broker.
    package init() {}

    /// `true` when the client has no topic filter left to send: all filters of this connection were sent to the broker
    /// in SUBSCRIBE packets. Also `true` without a connection.
    package var isAllSent: Bool { self.waiting.isEmpty }

    /// `true` once all subscriptions were sent and the last slice (the last group of them that was sent together) has
    /// ended. By then its retained messages have arrived, or the wait for them took ``patience``. Also `true` without a
    /// connection.
    package var isComplete: Bool { self.phase == .idle && self.waiting.isEmpty }

    /// The time until which the client waits for further retained messages of the present slice, the group of
    /// subscriptions that was sent together. The caller must then call ``isQuiet(now:)``, which ends the slice. `nil`
    /// while the client waits for no retained messages.
    package var deadline: MonotonicTime? {
        guard case .receiving(_, let quietAt, let end) = self.phase else { return nil }
        return min(quietAt, end)
    }

    /// Handles that a connection was made: stores the topic filters to subscribe to. They are sent in this order. The
    /// caller therefore puts the filters of the most important messages first.
    package mutating func begin(_ filters: [Filter]) { (self.phase, self.waiting) = (.idle, filters[...]) }

    /// Handles that the connection was lost: drops the topic filters that were not sent yet.
    package mutating func disconnected() { (self.phase, self.waiting) = (.idle, []) }

    /// Removes topic filters that the client no longer wants. Filters among them that were not sent to the broker yet
    /// are never sent.
    package mutating func remove(_ filters: [Filter]) {
        guard !self.waiting.isEmpty else { return }
        self.waiting.removeAll { filters.contains($0) }
    }

    /// Begins the next slice, the group of subscriptions that is sent together. Returns the topic filters of each of
    /// its SUBSCRIBE packets; empty if every filter was sent.
    ///
    /// - Parameter retained: A function that returns the number of retained messages that a filter may cause.
    package mutating func next(now: MonotonicTime, retained: (Filter) -> Int) -> [[Filter]] {
        var count = 0
        let end = self.waiting.firstIndex { filter in
            let expected = retained(filter)
            defer { count += expected }
            return count > 0 && count + expected > Self.size
        }
        let slice = self.waiting[..<(end ?? self.waiting.endIndex)]
        self.waiting = self.waiting[slice.endIndex...]
        let packets = Self.packets(Array(slice))
        self.phase = packets.isEmpty ? .idle : .sent(at: now, unanswered: packets.count)
        return packets
    }

    /// Divides topic filters among SUBSCRIBE packets, at most ``filtersInPacket`` filters in each packet.
    package static func packets(_ filters: [Filter]) -> [[Filter]] {
        stride(from: 0, to: filters.count, by: Self.filtersInPacket).map {
            Array(filters[$0..<min($0 + Self.filtersInPacket, filters.count)])
        }
    }

    /// Handles that the broker answered one SUBSCRIBE packet of the present slice (the group of subscriptions that was
    /// sent together). After the answer to the slice's last packet, the wait for its retained messages begins.
    package mutating func answered(now: MonotonicTime) {
        guard case .sent(let start, let unanswered) = self.phase else { return }
        guard unanswered <= 1 else {
            self.phase = .sent(at: start, unanswered: unanswered - 1)
            return
        }
        let pause = min(max(start.duration(to: now) * 4, Self.shortestPause), Self.longestPause)
        self.phase = .receiving(
            pause: pause, quietAt: now.advanced(by: pause), end: now.advanced(by: Self.patience))
    }

    /// Handles that a retained message arrived, or that the client was busy with earlier ones until now. The pause
    /// without a retained message, which ends the slice of subscriptions, begins again at `now`.
    package mutating func received(now: MonotonicTime) {
        guard case .receiving(let pause, _, let end) = self.phase else { return }
        self.phase = .receiving(pause: pause, quietAt: now.advanced(by: pause), end: end)
    }

    /// Ends the slice of subscriptions if its pause without a retained message is over, or if ``patience`` has passed
    /// since the broker's last answer. Returns `true` if this call ended the slice.
    package mutating func isQuiet(now: MonotonicTime) -> Bool {
        guard let deadline = self.deadline, deadline <= now else { return false }
        self.phase = .idle
        return true
    }
}

extension TopicFilter {
    /// Returns the number of retained messages that a subscription to this filter is assumed to cause. A filter for all
    /// positions counts as a whole slice, because the number of positions is unknown before they arrive.
    ///
    /// - Parameter trackables: The number of trackables that have a retained position, as far as known.
    package func retainedMessages(of trackables: Int) -> Int {
        switch self {
        case .everyEvent, .everyRaw, .everyHistory: 0
        // The number of positions is unknown before they arrive, so they are a slice of their own.
        case .everyLocation: SubscriptionSlices<TopicFilter>.size
        case .everyPublisher, .everySubscriber, .everyResolution, .everyRequest, .everyLiveness, .everyTrip,
            .everyEnhanced, .everyJourney, .everyEstimate, .everyAck, .all:
            max(1, trackables)
        case .topic, .publishers, .subscribers, .requests, .acks, .everything: 1
        }
    }
}
