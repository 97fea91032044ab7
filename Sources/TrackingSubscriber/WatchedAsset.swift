import TrackingCore

/// One watched trackable: the facts received about it, and those delivered to the program.
struct WatchedAsset: Sendable {
    let id: TrackableID
    /// The resolution that this subscriber requests; `nil` for none.
    var request: Resolution?
    /// The time from which this subscriber is present on the trackable; `nil` while it is not.
    var since: UnixTime?
    /// The publisher that is entitled to publish the trackable; `nil` while no publisher is present.
    @Boxed var owner: Member? = nil
    /// The resolution that the publisher has published last, in force only while a publisher is present.
    @Boxed var resolution: ResolutionInForce? = nil
    var signs = SignsOfLife()
    private var positions = PositionLane()
    @Boxed private var rawOrder = UpdateOrder()
    private var delivered = DeliveredFacts()

    init(id: TrackableID, request: Resolution?) {
        self.id = id
        self.request = request
    }

    /// The resolution in force; `nil` while no publisher is present.
    var resolutionInForce: ResolutionInForce? { self.owner == nil ? nil : self.resolution }

    /// The time from which the trackable is stale, if no sign of it is received until then; `nil` while none is
    /// expected.
    var staleDeadline: MonotonicTime? {
        guard !self.signs.isStale, let last = self.signs.last, let resolution = self.resolutionInForce,
            resolution.maximumSilence > .zero
        else { return nil }
        return last.advanced(by: resolution.maximumSilence + resolution.resolution.desiredInterval * 2)
    }

    /// The time at which the next update is due if the trackable moves; `nil` while none is expected.
    var nextExpected: MonotonicTime? {
        guard let interval = self.resolutionInForce?.resolution.desiredInterval else { return nil }
        return self.signs.lastArrival?.advanced(by: interval)
    }

    // MARK: - Positions

    /// `true` for an update of the owner's stream, and for any update while the owner or the stream is unknown.
    func isOfOwner(_ stream: StreamID?) -> Bool {
        guard let owned = self.owner?.presence.stream, let stream else { return true }
        return owned == stream
    }

    /// An update of a publisher that is not known as the owner arrived. The broker's retained copy is set aside until
    /// the owner is known.
    mutating func setAside(_ update: LocationUpdate, isRetained: Bool) {
        if isRetained { self.positions.retainedOfOthers = update }
    }

    /// The update that was set aside and is the owner's, as is known by now.
    var updateOfNewOwner: LocationUpdate? {
        guard let update = self.positions.retainedOfOthers, self.isOfOwner(update.location.stream) else { return nil }
        return update
    }

    /// The connection was lost.
    mutating func disconnected() { self.positions.retainedOfOthers = nil }

    /// An update of the owner arrived.
    ///
    /// - Returns: The update to deliver; `nil` for one that was delivered before.
    mutating func moved(_ update: LocationUpdate, isRetained: Bool) -> ReceivedUpdate? {
        let stream = update.location.stream
        return self.positions.received(
            update, isOwners: stream != nil && stream == self.owner?.presence.stream, isRetained: isRetained)
    }

    /// A raw update arrived.
    ///
    /// - Returns: The update to deliver; `nil` for one that was delivered before.
    mutating func movedRaw(_ update: LocationUpdate, isRetained: Bool) -> ReceivedUpdate? {
        let verdict = self.rawOrder.consider(update)
        let skipped = self.rawOrder.newSkipped(update)
        guard verdict != .duplicate else { return nil }
        return ReceivedUpdate(update: update, skipped: skipped, isLate: verdict == .late, isRetained: isRetained)
    }

    /// The retained position was cleared.
    ///
    /// - Returns: `true` if a position was delivered before.
    mutating func positionCleared() -> Bool { self.positions.cleared() }

    /// The sweep over the retained positions ended, and none of this trackable arrived.
    mutating func positionIsMissing() { self.positions.isMissing = self.positions.isDelivered }

    // MARK: - Deliveries

    /// Returns the resolution in force as an event, if it differs from the one delivered last.
    mutating func resolutionEvent() -> SubscriberEvent? {
        guard self.resolutionInForce != self.delivered.resolution else { return nil }
        self.delivered.resolution = self.resolutionInForce
        return .resolution(self.id, self.resolutionInForce)
    }

    /// Returns the state and the publisher's presence as events, where they differ from those delivered last.
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

    /// Returns `true` for a newer version of a trip than the one delivered last, for the first one of a stream, and for
    /// the clearing of a trip that was delivered.
    mutating func isNews(_ trip: Trip?) -> Bool { self.delivered.isNews(trip) }

    /// Returns `true` for a trip that ended and was not delivered before, as far as that is remembered.
    mutating func isNews(recorded trip: Trip) -> Bool {
        trip.state == .ended && self.delivered.records.isNews(RecordName(stream: trip.stream, seq: trip.seq))
    }

    /// Returns `true` for an event that was not delivered before, as far as that is remembered.
    mutating func isNews(_ event: TrackingEvent) -> Bool {
        self.delivered.records.isNews(RecordName(stream: event.stream, seq: event.seq))
    }

    /// The connection, as it concerns one trackable.
    struct Link {
        /// `true` while the subscriber is connected and may read the trackable.
        var isConnected: Bool
        /// `true` if no state can follow: the client id was taken over, or the broker rejects the trackable's name.
        var isFailed: Bool
        /// The reason for a state that is not `ONLINE`.
        var reason: TrackingError?
    }
}

/// The moments at which a trackable gave a sign of life.
struct SignsOfLife: Sendable {
    /// The last message that was not the broker's retained copy, or the moment at which a publisher came online.
    var last: MonotonicTime?
    /// The last update that was not the broker's retained copy.
    private(set) var lastArrival: MonotonicTime?
    /// The last message of its publisher, by this device's wall clock.
    var lastSeen: UnixTime?
    /// The moment at which a trackable that is not watched by name appeared, or the time of its retained position.
    var appeared: UnixTime?
    /// `true` while the owner has been silent for longer than it announced.
    var isStale = false

    /// The last sign of life that is known, by the wall clock; `nil` for none.
    var lastKnown: UnixTime? { self.lastSeen ?? self.appeared }

    /// An update arrived that was not the broker's retained copy.
    mutating func updateArrived(at moment: Moment) {
        self.last = moment.now
        self.lastArrival = moment.now
        self.lastSeen = moment.wall
        self.isStale = false
    }

    /// Expects signs from now on, because a publisher or the connection came.
    mutating func restart(now: MonotonicTime) {
        self.last = now
        self.isStale = false
    }
}

/// The positions of one trackable, in order.
private struct PositionLane: Sendable {
    @Boxed var order = UpdateOrder()
    /// The broker's retained update of a stream that is not the owner's, perhaps of a publisher that is not known yet.
    @Boxed var retainedOfOthers: LocationUpdate? = nil
    /// `true` if a position was delivered and not cleared since.
    private(set) var isDelivered = false
    /// `true` if the broker retains no position although one was delivered: the same position is delivered again then.
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

/// The facts about one trackable that were delivered last.
private struct DeliveredFacts: Sendable {
    @Boxed var resolution: ResolutionInForce? = nil
    /// The events, and the trips that ended.
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
