import TrackingCore

/// Collects the messages that the broker retains, after each new connection of a subscriber.
///
/// The subscriptions of the connection are sent in slices, so that the retained messages of each slice fit into the
/// broker's queue. Meanwhile, the retained positions are counted. A broker drops retained messages when its queue for
/// the subscriber is full. A subscriber that watches all trackables then asks again for those of single trackables.
///
/// | step | method |
/// |---|---|
/// | the connection was made | ``connected(_:)``, then ``nextPackets(now:)`` |
/// | a retained message arrived | ``retainedArrived(now:)`` |
/// | the broker answered a subscription; the last one | ``answered(now:)``; ``settled(now:)`` |
/// | a position arrived | ``positionArrived(_:isCleared:now:)`` |
/// | the state of a trackable was updated | ``messageArrived(_:isPosition:isLive:_:now:)`` |
/// | ``nextDeadline`` | ``duePackets(now:)``, ``askAgain(now:)``, ``end(_:isRefused:now:)`` |
/// | the connection was lost | ``disconnected()`` |
struct RetainedCollection: Sendable {
    /// One SUBSCRIBE packet of a new connection.
    struct Packet: Hashable, Sendable {
        /// The topic filters of the packet.
        var filters: [TopicFilter]
        /// `true` for the last packet of the connection. The broker answers subscriptions in order, so its answer to
        /// this packet settles the connection.
        var isLast: Bool
    }

    /// The topic filters with which the broker is asked again for retained messages of single trackables.
    struct Question: Hashable, Sendable {
        /// The filters of the earlier question, whose subscriptions end.
        var ended: [TopicFilter]
        /// The filters to subscribe to.
        var asked: [TopicFilter]
    }

    private let watchesAll: Bool
    /// The largest number of trackables whose positions are counted, or expected because of the program's history.
    private let limit: Int
    private(set) var slices = SubscriptionSlices<TopicFilter>()
    private var sweep = RetainedSweep()
    private var gaps = RetainedGaps()
    /// `true` from the broker's answer to the last subscription until the connection is lost.
    private var isSettled = false

    /// Makes a collection before the first connection.
    init(configuration: SubscriberConfiguration) {
        self.watchesAll = configuration.watchesAll
        self.limit = configuration.maximumTrackables * 2
    }

    /// The time at which ``duePackets(now:)``, ``askAgain(now:)`` and ``end(_:isRefused:now:)`` must be called; `nil`
    /// for never.
    var nextDeadline: MonotonicTime? {
        let retained = MonotonicTime.earlier(self.sweep.deadline, self.slices.deadline)
        return .earlier(retained, self.isSettled ? self.gaps.nextDeadline : nil)
    }

    // MARK: - The connection

    /// Handles a new connection: all retained messages arrive again.
    ///
    /// - Parameter filters: The topic filters to subscribe to. Those of the most important messages come first.
    mutating func connected(_ filters: [TopicFilter]) {
        self.isSettled = false
        self.sweep.connected()
        self.slices.begin(filters)
    }

    /// Handles that the connection was lost. Expected positions remain expected on the next connection.
    mutating func disconnected() {
        self.isSettled = false
        self.sweep.disconnected()
        self.slices.disconnected()
        self.gaps.disconnected()
    }

    /// Returns the SUBSCRIBE packets of the next slice; none if every filter was sent.
    mutating func nextPackets(now: MonotonicTime) -> [Packet] {
        let trackables = self.sweep.count
        let packets = self.slices.next(now: now) { $0.retainedMessages(of: trackables) }
        return packets.enumerated().map { number, filters in
            Packet(filters: filters, isLast: self.slices.isAllSent && number == packets.count - 1)
        }
    }

    /// Returns the SUBSCRIBE packets of the next slice if the retained messages of the present slice have arrived.
    mutating func duePackets(now: MonotonicTime) -> [Packet] {
        self.slices.isQuiet(now: now) ? self.nextPackets(now: now) : []
    }

    /// Handles that the broker answered a SUBSCRIBE packet of the connection.
    mutating func answered(now: MonotonicTime) { self.slices.answered(now: now) }

    /// Handles that the broker answered the last SUBSCRIBE packet, and the subscriber announced itself. The retained
    /// positions may still arrive for a limited time.
    mutating func settled(now: MonotonicTime) {
        self.isSettled = true
        self.sweep.end(within: SubscriberConfiguration.sweepTime.unconfirmed, now: now)
        self.gaps.postpone(now: now)
    }

    /// Handles that the broker delivered the subscriber's own liveness, which it sends after the retained messages.
    mutating func confirmed(now: MonotonicTime) {
        self.sweep.end(within: SubscriberConfiguration.sweepTime.confirmed, now: now)
    }

    // MARK: - Messages

    /// Handles that a retained message arrived.
    mutating func retainedArrived(now: MonotonicTime) { self.slices.received(now: now) }

    /// Handles that a position of a trackable arrived, or that its retained position was cleared.
    mutating func positionArrived(_ id: TrackableID, isCleared: Bool, now: MonotonicTime) {
        self.sweep.note(id, isLocated: !isCleared, limit: self.limit)
        if isCleared { self.gaps.arrived(id, .position, now: now) }
    }

    /// Handles a message on a trackable's topic, after the trackable's state was updated: notes which retained messages
    /// of the trackable arrived, and which are missing.
    ///
    /// - Parameters:
    ///   - isPosition: `true` for a position.
    ///   - isLive: `true` for a position that is not the broker's retained copy.
    ///   - assets: The watched trackables.
    mutating func messageArrived(
        _ id: TrackableID, isPosition: Bool, isLive: Bool, _ assets: [TrackableID: WatchedAsset], now: MonotonicTime
    ) {
        guard self.watchesAll, let asset = assets[id] else { return }
        if isPosition {
            if self.gaps.arrived(id, .position, now: now) { self.missStates(of: assets, now: now) }
        } else if !asset.hasPosition, asset.owner != nil {
            self.gaps.missing(id, .position, now: now)
        }
        if asset.hasState {
            self.gaps.arrived(id, .state, now: now)
        } else if asset.owner != nil || (isPosition && isLive) {
            self.gaps.missing(id, .state, now: now)
        }
    }

    /// Notes the presence and the resolution of each trackable as missing if they did not arrive. A trackable whose
    /// position did arrive gives no other sign that the broker dropped its presence.
    private mutating func missStates(of assets: [TrackableID: WatchedAsset], now: MonotonicTime) {
        for id in assets.filter({ !$0.value.hasState }).keys.sorted() { self.gaps.missing(id, .state, now: now) }
    }

    /// Forgets a trackable that is no longer watched, and its topic filters.
    mutating func forget(_ id: TrackableID, _ filters: [TopicFilter]) {
        self.slices.remove(filters)
        self.gaps.forget(id)
    }

    // MARK: - Missing positions

    /// Handles the list of trackables that had a position, by the program's history. They are compared with the
    /// positions at the broker when the retained positions have arrived.
    mutating func expect(_ ids: [TrackableID], _ assets: [TrackableID: WatchedAsset], now: MonotonicTime) {
        guard self.watchesAll else { return }
        self.sweep.expect(ids, limit: self.limit)
        if self.isSettled, !self.sweep.isCollecting { self.compare(with: assets, now: now) }
    }

    /// Compares the received positions with the trackables that should have one: those that the program's history
    /// contains, and those that are watched already. Each missing position is asked for.
    private mutating func compare(with assets: [TrackableID: WatchedAsset], now: MonotonicTime) {
        guard self.watchesAll else { return }
        let missing = self.sweep.takeMissing(watched: assets.keys) { assets[$0]?.hasPosition == true }
        for id in missing.sorted() { self.gaps.missing(id, .position, now: now) }
    }

    /// Returns the topic filters with which to ask the broker again for retained messages of single trackables; `nil`
    /// if there is nothing to ask.
    mutating func askAgain(now: MonotonicTime) -> Question? {
        guard self.isSettled, let round = self.gaps.timerFired(now: now) else { return nil }
        return Question(
            ended: round.ended.flatMap(Self.retainedFilters(of:)), asked: round.asked.flatMap(Self.retainedFilters(of:))
        )
    }

    private static func retainedFilters(of id: TrackableID) -> [TopicFilter] {
        [.topic(.location(id)), .publishers(id), .topic(.resolution(id)), .topic(.trip(id))]
    }

    /// Ends the collection of the positions that the broker retains, if its time is over.
    ///
    /// The end is postponed while the broker rejects the subscriptions to all trackables, and while the broker is asked
    /// again for missing positions.
    ///
    /// - Parameters:
    ///   - assets: The watched trackables.
    ///   - isRefused: `true` while the broker rejects the subscriptions to all trackables.
    /// - Returns: The trackables that have a retained position; `nil` if the collection does not end now.
    mutating func end(
        _ assets: [TrackableID: WatchedAsset], isRefused: Bool, now: MonotonicTime
    ) -> Set<TrackableID>? {
        guard let deadline = self.sweep.deadline, deadline <= now else { return nil }
        guard !isRefused else {
            self.sweep.postpone(by: SubscriberConfiguration.sweepTime.unconfirmed, now: now)
            return nil
        }
        self.compare(with: assets, now: now)
        guard !self.gaps.isAskingForPositions else {
            self.sweep.postpone(by: RetainedGaps.roundTime, now: now)
            return nil
        }
        return self.sweep.ended()
    }
}
