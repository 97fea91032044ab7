import TrackingCore

/// The publishes and subscriptions that the broker has not answered, in the order of sending. Each has its MQTT packet
/// id and the token by which the program recognizes the answer.
///
/// Brokers answer in that order, so the first entry is nearly always the matching one.
struct InFlight {
    struct Publish {
        let packet: Int32
        let token: TransportToken
        let topic: String
        let sent: MonotonicTime
    }

    struct Subscription {
        let packet: Int32
        let token: TransportToken
        let sent: MonotonicTime
        /// One element for each filter of the subscription: the reason why the filter was not sent to the broker, or
        /// `nil` if it was sent.
        let refusals: [TrackingError?]
        /// The topic filters of the subscription, in the order in which they were sent to the broker.
        let filters: [String]
        /// `true` if the SUBSCRIBE packet has only a part of the filters of a subscription, which is sent in several
        /// packets.
        var isPart = false
    }

    private var publishes: [Publish?] = []
    private var head = 0
    private var subscriptions: [Subscription?] = []
    private var subscriptionHead = 0
    /// The number of publishes that the broker has not answered.
    private(set) var publishCount = 0

    var isEmpty: Bool { self.publishCount == 0 && self.subscriptionHead == self.subscriptions.count }

    /// The time at which the oldest unanswered publish or subscription was sent; `nil` if all were answered.
    var oldest: MonotonicTime? {
        let publish = self.head < self.publishes.count ? self.publishes[self.head]?.sent : nil
        let isWaiting = self.subscriptionHead < self.subscriptions.count
        guard isWaiting, let subscription = self.subscriptions[self.subscriptionHead]?.sent else { return publish }
        return publish.map { min($0, subscription) } ?? subscription
    }

    /// The topics of the unanswered publishes and the filters of the unanswered subscriptions.
    var names: [String] {
        self.publishes[self.head...].compactMap { $0?.topic }
            + self.subscriptions[self.subscriptionHead...].flatMap { $0?.filters ?? [] }
    }

    mutating func append(_ publish: Publish) {
        self.publishes.append(publish)
        self.publishCount += 1
    }

    mutating func append(_ subscription: Subscription) { self.subscriptions.append(subscription) }

    /// Removes and returns the unanswered publish with this packet id; `nil` when there is none.
    mutating func takePublish(_ packet: Int32) -> Publish? {
        guard let index = self.publishes[self.head...].firstIndex(where: { $0?.packet == packet }),
            let publish = self.publishes[index]
        else { return nil }
        self.publishes[index] = nil
        self.publishCount -= 1
        while self.head < self.publishes.count, self.publishes[self.head] == nil { self.head += 1 }
        self.compact()
        return publish
    }

    mutating func takeSubscription(_ packet: Int32) -> Subscription? {
        guard
            let index = self.subscriptions[self.subscriptionHead...].firstIndex(where: { $0?.packet == packet }),
            let subscription = self.subscriptions[index].take()
        else { return nil }
        while self.subscriptionHead < self.subscriptions.count, self.subscriptions[self.subscriptionHead] == nil {
            self.subscriptionHead += 1
        }
        if self.subscriptionHead == self.subscriptions.count {
            self.subscriptions = []
            self.subscriptionHead = 0
        } else if self.subscriptionHead >= 256, self.subscriptionHead * 2 >= self.subscriptions.count {
            self.subscriptions.removeFirst(self.subscriptionHead)
            self.subscriptionHead = 0
        }
        return subscription
    }

    mutating func removeAll() { self = InFlight() }

    private mutating func compact() {
        if self.head == self.publishes.count {
            self.publishes.removeAll(keepingCapacity: self.publishes.count <= 1_024)
            self.head = 0
        } else if self.head >= 256 {
            self.publishes.removeFirst(self.head)
            self.head = 0
        }
    }
}
