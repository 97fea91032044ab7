import TrackingCore

/// One watched trackable: the facts that the subscriber received about it, and those that it delivered to the program.
struct WatchedAsset: Sendable {
    let id: TrackableID
    /// The resolution that this subscriber requests for the trackable; `nil` for none.
    var request: Resolution?
    /// The time from which this subscriber is present on the trackable; `nil` while it publishes no presence there.
    var since: UnixTime?
    /// The owner: the publisher that is entitled to publish the trackable; `nil` while no publisher is present.
    @Boxed var owner: Member? = nil
    /// The resolution that the trackable's publisher published last. It is in force only while a publisher is present.
    @Boxed var resolution: ResolutionInForce? = nil
    var signs = SignsOfLife()
    private var positions = PositionLane()
    @Boxed private var rawOrder = UpdateOrder()
    private var delivered = DeliveredFacts()

    init(id: TrackableID, request: Resolution?) {
        self.id = id
        self.request = request
    }

    /// The trackable's resolution in force; `nil` while no publisher is present.
    var resolutionInForce: ResolutionInForce? { self.owner == nil ? nil : self.resolution }

    /// The time at which the trackable becomes stale, unless a sign of life arrives before; `nil` while none is
    /// expected.
    var staleDeadline: MonotonicTime? {
        guard !self.signs.isStale, let last = self.signs.last, let resolution = self.resolutionInForce,
            resolution.maximumSilence > .zero
        else { return nil }
        return last.advanced(by: resolution.maximumSilence + resolution.resolution.desiredInterval * 2)
    }

    /// The time at which the trackable's next position is due, provided that it moves; `nil` while none is expected.
    var nextExpected: MonotonicTime? {
        guard let interval = self.resolutionInForce?.resolution.desiredInterval else { return nil }
        return self.signs.lastArrival?.advanced(by: interval)
    }

    // MARK: - Positions

    /// Returns `true` for a stream of the trackable's owner, and for any stream while the owner or the stream is
    /// unknown.
    func isOfOwner(_ stream: StreamID?) -> Bool {
        guard let owned = self.owner?.presence.stream, let stream else { return true }
        return owned == stream
    }

    /// Handles an update of a publisher that is not known as the trackable's owner. The broker's retained copy is
    /// remembered until the owner is known; another update is ignored.
    mutating func setAside(_ update: LocationUpdate, isRetained: Bool) {
        if isRetained { self.positions.retainedOfOthers = update }
    }

    /// The remembered retained update, if its publisher has become the trackable's owner meanwhile; otherwise `nil`.
    var updateOfNewOwner: LocationUpdate? {
        guard let update = self.positions.retainedOfOthers, self.isOfOwner(update.location.stream) else { return nil }
        return update
    }

    /// The subscriber's connection was lost.
    mutating func disconnected() { self.positions.retainedOfOthers = nil }

    /// Handles a location update of the trackable's owner.
    ///
    /// - Returns: The update to deliver; `nil` if it was delivered before.
    mutating func moved(_ update: LocationUpdate, isRetained: Bool) -> ReceivedUpdate? {
        let stream = update.location.stream
        return self.positions.received(
            update, isOwners: stream != nil && stream == self.owner?.presence.stream, isRetained: isRetained)
    }

    /// Handles a raw location update of the trackable.
    ///
    /// - Returns: The update to deliver; `nil` if it was delivered before.
    mutating func movedRaw(_ update: LocationUpdate, isRetained: Bool) -> ReceivedUpdate? {
        let verdict = self.rawOrder.consider(update)
        let skipped = self.rawOrder.newSkipped(update)
        guard verdict != .duplicate else { return nil }
        return ReceivedUpdate(update: update, skipped: skipped, isLate: verdict == .late, isRetained: isRetained)
    }

    /// Handles the clearing of the trackable's retained position.
    ///
    /// - Returns: `true` if a position of the trackable was delivered before.
    mutating func positionCleared() -> Bool { self.positions.cleared() }

    /// Notes that the sweep over the broker's retained positions ended without a position of this trackable.
    mutating func positionIsMissing() { self.positions.isMissing = self.positions.isDelivered }

    // MARK: - Deliveries

    /// Returns the trackable's resolution in force as an event; `nil` if it was delivered already.
    mutating func resolutionEvent() -> SubscriberEvent? {
        guard self.resolutionInForce != self.delivered.resolution else { return nil }
        self.delivered.resolution = self.resolutionInForce
        return .resolution(self.id, self.resolutionInForce)
    }

    /// Returns the subscriber's state and the publisher's presence as events, where they differ from those delivered
    /// last.
    ///
    /// - Parameter link: The connection, as it concerns this trackable.
    mutating func stateEvents(_ link: Link) -> [SubscriberEvent] {
        var events: [SubscriberEvent] = []
        let status: PublisherPresence.Status =
            link.isConnected ? (self.owner == nil ? .absent : .present) : .unknown
        if status != self.delivered.presence {
            self.delivered.presence = status
            events.append(.presence(self.id, PublisherPresence(status: status, lastSeen: self.signs.lastSeen)))
        }
        let state = self.state(link)
        if state != self.delivered.state {
            self.delivered.state = state
            events.append(.state(self.id, state, link.reason))
        }
        return events
    }

    private func state(_ link: Link) -> SubscriberState {
        if link.isFailed { return .failed }
        guard link.isConnected, self.owner != nil else { return .offline }
        return self.signs.isStale ? .stale : .online
    }

    /// Returns `true` for a newer version of a trip than the one delivered last, for a trip of another stream, and for
    /// the clearing (`nil`) of a trip that was delivered.
    mutating func isNews(_ trip: Trip?) -> Bool { self.delivered.isNews(trip) }

    /// Returns `true` for an ended trip that was not delivered before, as far as that is remembered, and notes its
    /// delivery.
    mutating func isNews(recorded trip: Trip) -> Bool {
        trip.state == .ended && self.delivered.records.isNews(RecordName(stream: trip.stream, seq: trip.seq))
    }

    /// Returns `true` for a tracking event that was not delivered before, as far as that is remembered, and notes its
    /// delivery.
    mutating func isNews(_ event: TrackingEvent) -> Bool {
        self.delivered.records.isNews(RecordName(stream: event.stream, seq: event.seq))
    }

    /// The state of the subscriber's connection, as it concerns one trackable.
    struct Link {
        /// `true` while the subscriber is connected and may read the trackable.
        var isConnected: Bool
        /// `true` if no other state can follow: the client id was taken over, or the broker rejects the trackable's
        /// name.
        var isFailed: Bool
        /// The reason for a state of the trackable other than `ONLINE`; `nil` where there is none.
        var reason: TrackingError?
    }
}

/// The times at which signs of life of a trackable arrived: its messages, and the presence of its publisher.
struct SignsOfLife: Sendable {
    /// The time of the last sign of life: a position that was not the broker's retained copy, or the coming online of
    /// the publisher or of this subscriber; `nil` before the first one.
    var last: MonotonicTime?
    /// The time of the last position that was not the broker's retained copy; `nil` before the first one.
    private(set) var lastArrival: MonotonicTime?
    /// The time of the last message of the trackable's publisher, by this device's wall clock; `nil` before the first
    /// one.
    var lastSeen: UnixTime?
    /// For a trackable that is not watched by name: the time at which its first message arrived, or the time of its
    /// retained position.
    var appeared: UnixTime?
    /// `true` while the trackable's publisher has been silent for longer than it announced.
    var isStale = false

    /// The time of the trackable's last known sign of life, by the wall clock; `nil` for none.
    var lastKnown: UnixTime? { self.lastSeen ?? self.appeared }

    /// Notes a position of the trackable that was not the broker's retained copy.
    mutating func updateArrived(at moment: Moment) {
        self.last = moment.now
        self.lastArrival = moment.now
        self.lastSeen = moment.wall
        self.isStale = false
    }

    /// Expects signs of life from now on, because a publisher of the trackable or the connection came online.
    mutating func restart(now: MonotonicTime) {
        self.last = now
        self.isStale = false
    }
}

/// The order of one trackable's positions, and the state of its retained position.
private struct PositionLane: Sendable {
    @Boxed var order = UpdateOrder()
    /// The broker's retained update of a stream that is not the owner's, perhaps of a publisher that is not known yet;
    /// `nil` for none.
    @Boxed var retainedOfOthers: LocationUpdate? = nil
    /// `true` if a position of the trackable was delivered and not cleared since.
    private(set) var isDelivered = false
    /// `true` if a position was delivered but the broker retains none. The same position is then delivered again when
    /// it arrives.
    var isMissing = false

    mutating func received(_ update: LocationUpdate, isOwners: Bool, isRetained: Bool) -> ReceivedUpdate? {
        if self.retainedOfOthers != nil { self.retainedOfOthers = nil }
        let verdict = self.order.consider(update, isOwners: isOwners)
        let skipped = self.order.newSkipped(update)
        let wasMissing = self.isMissing
        self.isMissing = false
        guard verdict != .duplicate || wasMissing else { return nil }
        self.isDelivered = true
        return ReceivedUpdate(update: update, skipped: skipped, isLate: verdict == .late, isRetained: isRetained)
    }

    mutating func cleared() -> Bool {
        self.retainedOfOthers = nil
        guard self.isDelivered else { return false }
        (self.isDelivered, self.isMissing) = (false, false)
        return true
    }
}

/// The facts about one trackable that were delivered to the program last.
private struct DeliveredFacts: Sendable {
    @Boxed var resolution: ResolutionInForce? = nil
    /// The tracking events, and the ended trips, that were delivered.
    @Boxed var records = DeliveredRecords()
    var state: SubscriberState?
    var presence: PublisherPresence.Status?
    private var trip: RecordName?

    mutating func isNews(_ trip: Trip?) -> Bool {
        guard let trip else { return self.trip.take() != nil }
        if let last = self.trip, last.stream == trip.stream, trip.seq <= last.seq { return false }
        let name = RecordName(stream: trip.stream, seq: trip.seq)
        self.trip = name
        if trip.state == .ended { _ = self.records.isNews(name) }
        return true
    }
}
