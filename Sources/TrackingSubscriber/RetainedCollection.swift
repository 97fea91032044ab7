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
    /// A SUBSCRIBE packet that the subscriber sends after a new connection was made.
    struct Packet: Hashable, Sendable {
        /// The topic filters of this SUBSCRIBE packet.
        var filters: [TopicFilter]
        /// `true` for the last SUBSCRIBE packet of a new connection. The broker answers packets in order, so once it
        /// has answered this one, it has answered all subscriptions of the connection.
        var isLast: Bool
    }

    /// One round of asking the broker again for the retained messages of single trackables: the topic filters to
    /// subscribe to, and those of the previous round to unsubscribe from.
    struct Question: Hashable, Sendable {
        /// The topic filters of the previous round of asking. The subscriber now unsubscribes from them.
        var ended: [TopicFilter]
        /// The topic filters to which the subscriber now subscribes, so that the broker sends their retained messages
        /// again.
        var asked: [TopicFilter]
    }

    private let watchesAll: Bool
    /// The largest number of trackables that are counted because a position of theirs arrived. It also limits the
    /// trackables that are expected to have a position because the program's history has one.
    private let limit: Int
    private(set) var slices = SubscriptionSlices<TopicFilter>()
    private var sweep = RetainedSweep()
    private var gaps = RetainedGaps()
    /// The number of retained messages that arrived since the last slice, a group of subscriptions that is sent
    /// together, was sent.
    private var arrivedInSlice = 0
    /// `true` once a slice (the group of subscriptions that is sent together) brought more retained messages on this
    /// connection than fit into a broker's queue. The broker may then have dropped some.
    private(set) var isOverfull = false
    /// `true` once every presence and resolution in force that did not arrive on this connection was marked as missing,
    /// so that the broker is asked for it again.
    private var areStatesMissed = false
    /// `true` from the broker's answer to the last subscription of a connection until that connection is lost.
    private var isSettled = false

    /// Makes the state of a subscriber that has not been connected yet, so that no retained message has arrived.
    init(configuration: SubscriberConfiguration) {
        self.watchesAll = configuration.watchesAll
        self.limit = configuration.maximumTrackables * 2
    }

    /// The next time at which ``duePackets(now:)``, ``askAgain(now:)`` and ``end(_:isRefused:now:)`` must be called,
    /// because one of them may have something to do; `nil` for never.
    var nextDeadline: MonotonicTime? {
        let retained = MonotonicTime.earlier(self.sweep.deadline, self.slices.deadline)
        return .earlier(retained, self.isSettled ? self.gaps.nextDeadline : nil)
    }

    // MARK: - The connection

    /// Handles a new connection, on which all retained messages arrive again: begins to count positions from zero, and
    /// stores the topic filters that ``nextPackets(now:)`` then returns in slices.
    ///
    /// - Parameter filters: The topic filters to subscribe to. Those of the most important messages come first.
    mutating func connected(_ filters: [TopicFilter]) {
        (self.isSettled, self.isOverfull, self.areStatesMissed) = (false, false, false)
        self.sweep.connected()
        self.slices.begin(filters)
    }

    /// Handles that the connection was lost: the collection of retained positions ends without a result. The positions
    /// that are expected because the program's history has one of the trackable remain expected on the next connection.
    mutating func disconnected() {
        self.isSettled = false
        self.sweep.disconnected()
        self.slices.disconnected()
        self.gaps.disconnected()
    }

    /// Begins the next slice, the group of subscriptions that is sent together. Returns its SUBSCRIBE packets; none if
    /// every topic filter was sent.
    mutating func nextPackets(now: MonotonicTime) -> [Packet] {
        let trackables = self.sweep.count
        self.arrivedInSlice = 0
        let packets = self.slices.next(now: now) { $0.retainedMessages(of: trackables) }
        return packets.enumerated().map { number, filters in
            Packet(filters: filters, isLast: self.slices.isAllSent && number == packets.count - 1)
        }
    }

    /// Begins the next slice of subscriptions and returns its SUBSCRIBE packets, if the broker has answered the present
    /// slice and no retained message has arrived for a short time. Otherwise returns none.
    mutating func duePackets(now: MonotonicTime) -> [Packet] {
        self.slices.isQuiet(now: now) ? self.nextPackets(now: now) : []
    }

    /// Handles that the broker answered a SUBSCRIBE packet of the connection. After the last answer for a slice, the
    /// wait for the slice's retained messages begins.
    mutating func answered(now: MonotonicTime) { self.slices.answered(now: now) }

    /// Handles that the broker has answered the last SUBSCRIBE packet of the connection. The collection of retained
    /// positions then ends within 30 s. Missing retained messages are asked for from now on.
    mutating func settled(now: MonotonicTime) {
        self.isSettled = true
        self.sweep.end(within: SubscriberConfiguration.sweepTime.unconfirmed, now: now)
        self.gaps.postpone(now: now)
    }

    /// Handles that the broker delivered the subscriber's own liveness message. The broker sends it after the retained
    /// messages, so the collection of retained positions ends within 2 s.
    mutating func confirmed(now: MonotonicTime) {
        self.sweep.end(within: SubscriberConfiguration.sweepTime.confirmed, now: now)
    }

    // MARK: - Messages

    /// Handles that a retained message arrived. The next slice of subscriptions is sent only after a short time without
    /// a retained message, and this time begins again now.
    mutating func retainedArrived(now: MonotonicTime) {
        self.slices.received(now: now)
        self.arrivedInSlice += 1
        if self.arrivedInSlice > SubscriptionSlices<TopicFilter>.size { self.isOverfull = true }
    }

    /// Counts a trackable as one that has a position, because its position arrived. If its retained position was
    /// cleared (`isCleared`), the trackable no longer counts, and the broker is not asked for its position.
    mutating func positionArrived(_ id: TrackableID, isCleared: Bool, now: MonotonicTime) {
        self.sweep.note(id, isLocated: !isCleared, limit: self.limit)
        if isCleared { self.gaps.cleared(id, now: now) }
    }

    /// Handles a message on a trackable's topic, after the trackable's state was updated: finds out which retained
    /// messages of the trackable are still missing, so that the broker is asked for them later. Does nothing unless the
    /// subscriber watches all trackables.
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
            self.gaps.arrived(id, .position, now: now)
        } else if !asset.hasPosition, asset.owner != nil {
            self.gaps.missing(id, .position, now: now)
        }
        if asset.hasState {
            self.gaps.arrived(id, .state, now: now)
        } else if asset.owner != nil || (isPosition && isLive) {
            self.gaps.missing(id, .state, now: now)
        }
        if self.gaps.provesDrops { self.missStates(of: assets, now: now) }
    }

    /// Marks the presence and the resolution of each watched trackable as missing if they did not arrive, so that the
    /// broker is asked for them; only once on a connection. A trackable whose position did arrive gives no other sign that the broker dropped its
    /// presence.
    private mutating func missStates(of assets: [TrackableID: WatchedAsset], now: MonotonicTime) {
        guard !self.areStatesMissed else { return }
        self.areStatesMissed = true
        for id in assets.filter({ !$0.value.hasState }).keys.sorted() { self.gaps.missing(id, .state, now: now) }
    }

    /// Forgets a trackable that is no longer watched. Those of its topic filters that were not sent yet are never sent,
    /// and the broker is not asked for its missing messages.
    mutating func forget(_ id: TrackableID, _ filters: [TopicFilter]) {
        self.slices.remove(filters)
        self.gaps.forget(id)
    }

    // MARK: - Missing positions

    /// Stores trackables that had a position, by the program's history. At the end of the collection of retained
    /// positions, or now if it has ended, they are compared with the positions that arrived. The broker is then asked
    /// for the missing positions. Does nothing unless the subscriber watches all trackables.
    mutating func expect(_ ids: [TrackableID], _ assets: [TrackableID: WatchedAsset], now: MonotonicTime) {
        guard self.watchesAll else { return }
        self.sweep.expect(ids, limit: self.limit)
        if self.isSettled, !self.sweep.isCollecting { self.compare(with: assets, now: now) }
    }

    /// Compares the retained positions that arrived with the trackables that should have one: those in the program's
    /// history, and those that are watched already. The broker will be asked again for each missing position. If a
    /// slice of subscriptions brought too many messages, it is also asked again for missing presences and resolutions.
    /// Does nothing unless the subscriber watches all trackables.
    private mutating func compare(with assets: [TrackableID: WatchedAsset], now: MonotonicTime) {
        guard self.watchesAll else { return }
        let missing = self.sweep.takeMissing(watched: assets.keys) { assets[$0]?.hasPosition == true }
        for id in missing.sorted() { self.gaps.missing(id, .position, now: now) }
        if self.isOverfull { self.missStates(of: assets, now: now) }
    }

    /// Begins the next round, in which the client asks the broker again for missing retained messages. Ends the
    /// previous round. Returns the topic filters to subscribe to and to unsubscribe from; `nil` if no round is due.
    mutating func askAgain(now: MonotonicTime) -> Question? {
        guard self.isSettled, let round = self.gaps.timerFired(now: now) else { return nil }
        return Question(
            ended: round.ended.flatMap(Self.retainedFilters(of:)), asked: round.asked.flatMap(Self.retainedFilters(of:))
        )
    }

    /// Handles that the subscriber began a round of asking the broker for missing retained messages: it sent the topic
    /// filters of the round in this number of SUBSCRIBE packets.
    mutating func asked(packets: Int, now: MonotonicTime) { self.gaps.sent(packets: packets, now: now) }

    /// Handles that the broker answered a SUBSCRIBE packet of the round that asks for missing retained messages.
    mutating func questionAnswered(now: MonotonicTime) { self.gaps.answered(now: now) }

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
