import TrackingCore

/// The state of one watched trackable: the facts that the subscriber received about it, and the facts that it delivered
/// to the program.
struct WatchedAsset: Sendable {
    let id: TrackableID
    /// The owner: the publisher whose positions of the trackable count, because it tracks the trackable since the
    /// latest time. `nil` while no publisher is present.
    @BoxedIfPresent var owner: Member? = nil
    /// The resolution in force that the trackable's publisher published last: the accuracy and interval of its updates.
    /// It is valid only while a publisher is present.
    @BoxedIfPresent var resolution: ResolutionInForce? = nil
    @Boxed var signs = SignsOfLife()
    @Boxed private var positions = PositionLane()
    /// The order of the raw updates; `nil` before the first one.
    @BoxedIfPresent private var rawOrder: UpdateOrder? = nil
    @Boxed private var delivered = DeliveredFacts()
    /// The choice between published and enhanced updates; `nil` if the program wants the published ones.
    @BoxedIfPresent private var preference: EnhancedPreference? = nil

    init(id: TrackableID, preferring kind: PositionKind = .published) {
        self.id = id
        self.preference = kind == .enhanced ? EnhancedPreference() : nil
    }

    /// `true` while a publisher of the trackable is present, and its resolution in force is known or not published.
    var hasState: Bool {
        guard let owner = self.owner else { return false }
        return self.resolution != nil || owner.presence.sendsResolution == false
    }

    /// The resolution in force, with which the trackable's publisher publishes; `nil` while no publisher is present or
    /// no resolution was received.
    var resolutionInForce: ResolutionInForce? { self.owner == nil ? nil : self.resolution }

    /// The time at which the trackable becomes stale unless a position arrives before. `nil` if the trackable is stale
    /// already, or while its publisher's maximum silence is unknown or zero.
    var staleDeadline: MonotonicTime? {
        guard !self.signs.isStale, let last = self.signs.last, let resolution = self.resolutionInForce,
            resolution.maximumSilence > .zero
        else { return nil }
        return last.advanced(by: resolution.maximumSilence + resolution.resolution.desiredInterval * 2)
    }

    /// The time at which the trackable's next position is expected; `nil` while the interval of the positions is
    /// unknown, or before the first live position. A trackable that does not move may publish later.
    var nextExpected: MonotonicTime? {
        guard let interval = self.resolutionInForce?.resolution.desiredInterval else { return nil }
        return self.signs.lastArrival?.advanced(by: interval)
    }

    // MARK: - Positions

    /// Returns `true` if a stream of records belongs to the trackable's owner, the publisher whose positions count.
    /// Also returns `true` while the owner or the stream is unknown.
    func isOfOwner(_ stream: StreamID?) -> Bool {
        guard let owned = self.owner?.presence.stream, let stream else { return true }
        return owned == stream
    }

    /// Handles a location update that does not come from the trackable's owner. If it is the broker's retained update,
    /// it is set aside, because its publisher may become the owner later. Any other such update is ignored.
    mutating func setAside(_ update: LocationUpdate, isRetained: Bool) {
        if isRetained { self.positions.retainedOfOthers = update }
    }

    /// The retained location update that was set aside because it did not come from the trackable's owner, if its
    /// publisher has become the owner since; otherwise `nil`.
    var updateOfNewOwner: LocationUpdate? {
        guard let update = self.positions.retainedOfOthers, self.isOfOwner(update.location.stream) else { return nil }
        return update
    }

    /// Handles a lost connection: forgets the retained update that was set aside because it did not come from the
    /// trackable's owner.
    mutating func disconnected() { self.positions.retainedOfOthers = nil }

    /// Handles a location update of the trackable's owner, the publisher whose positions count.
    ///
    /// - Returns: The update to deliver; `nil` if it was delivered before.
    mutating func moved(_ update: LocationUpdate, isRetained: Bool) -> ReceivedUpdate? {
        let stream = update.location.stream
        return self.positions.received(
            update, isOwners: stream != nil && stream == self.owner?.presence.stream, isRetained: isRetained)
    }

    /// Handles a raw location update of the trackable, as the receiver measured it.
    ///
    /// - Returns: The update to deliver; `nil` if it was delivered before.
    mutating func movedRaw(_ update: LocationUpdate, isRetained: Bool) -> ReceivedUpdate? {
        var order = self.rawOrder ?? UpdateOrder()
        let verdict = order.consider(update)
        let skipped = order.newSkipped(update)
        self.rawOrder = order
        guard verdict != .duplicate else { return nil }
        return ReceivedUpdate(update: update, skipped: skipped, isLate: verdict == .late, isRetained: isRetained)
    }

    /// Handles that the position retained for the trackable was cleared.
    ///
    /// - Returns: `true` if the clearing must be delivered, because a position of the trackable was delivered before.
    mutating func positionCleared() -> Bool {
        self.restartPreference()
        return self.positions.cleared()
    }

    /// Handles that the broker retains no position of this trackable, as the completed collection of retained positions
    /// shows. If the position that was delivered last arrives again later, it is delivered again.
    mutating func positionIsMissing() {
        self.restartPreference()
        self.positions.isMissing = self.positions.isDelivered
    }

    /// `true` if a position of the trackable was delivered, and the position was not cleared since.
    var hasPosition: Bool { self.positions.isDelivered }

    /// Returns the time of the newest received position of a stream; `nil` if none was received.
    func newestPosition(of stream: StreamID?) -> UnixTime? { stream.flatMap { self.positions.newest(of: $0) } }

    // MARK: - Enhanced positions

    /// The kind of positions that the program wants of this trackable.
    var prefers: PositionKind { self.preference == nil ? .published : .enhanced }

    /// The time at which ``withheldUpdate(now:)`` must be called; `nil` while no update is withheld.
    var preferenceDeadline: MonotonicTime? { self.preference?.deadline(interval: self.interval) }

    private var interval: Duration? { self.resolutionInForce?.resolution.desiredInterval }

    /// Handles an update of the publisher, if the program prefers enhanced positions of this trackable.
    ///
    /// - Returns: The update to deliver as the preferred one; `nil` if this one waits for the enhanced update of its fix.
    mutating func preferred(_ update: ReceivedUpdate, now: MonotonicTime) -> ReceivedUpdate? {
        self.preference?.published(update, now: now)
    }

    /// Handles an enhanced update of the trackable.
    ///
    /// - Returns: The update to deliver; `nil` if the program does not want it, or if a newer one was delivered.
    mutating func enhanced(_ update: LocationUpdate, isRetained: Bool, now: MonotonicTime) -> ReceivedUpdate? {
        guard self.isOfOwner(update.location.stream) else { return nil }
        return self.preference?.enhanced(update, isRetained: isRetained, now: now)
    }

    /// Returns the update of the publisher that waited too long for the enhanced update of its fix; `nil` for none.
    mutating func withheldUpdate(now: MonotonicTime) -> ReceivedUpdate? {
        let interval = self.interval
        return self.preference?.timerFired(interval: interval, now: now)
    }

    /// Changes the kind of positions that the program wants of this trackable.
    ///
    /// - Returns: The update of the publisher to deliver because it no longer waits for an enhanced one; `nil` for none.
    mutating func prefer(_ kind: PositionKind) -> ReceivedUpdate? {
        let withheld = self.preference?.deliverWithheld()
        self.preference = kind == .enhanced ? EnhancedPreference() : nil
        return withheld
    }

    private mutating func restartPreference() { if self.preference != nil { self.preference = EnhancedPreference() } }

    // MARK: - Deliveries

    /// Returns the trackable's resolution in force as an event; `nil` if it has not changed since it was delivered
    /// last.
    mutating func resolutionEvent() -> SubscriberEvent? {
        guard self.resolutionInForce != self.delivered.resolution else { return nil }
        self.delivered.share(self.owner == nil ? BoxedIfPresent(wrappedValue: nil) : self._resolution)
        return .resolution(self.id, self.resolutionInForce)
    }

    /// Returns the events to deliver: the trackable's state for the subscriber, and the presence of its publisher, each
    /// only if it changed since it was delivered last.
    ///
    /// - Parameter link: The state of the subscriber's connection, as far as it concerns this trackable.
    mutating func stateEvents(_ link: Link) -> [SubscriberEvent] {
        var events: [SubscriberEvent] = []
        let status: PublisherPresence.Status =
            link.isConnected ? (self.owner == nil ? .absent : .present) : .unknown
        let metadata = self.owner?.presence.metadata
        if status != self.delivered.presence || metadata != self.delivered.metadata {
            (self.delivered.presence, self.delivered.metadata) = (status, metadata)
            let presence = PublisherPresence(status: status, lastSeen: self.signs.lastSeen, metadata: metadata)
            events.append(.presence(self.id, presence))
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

    /// Returns `true` if a received trip must be delivered: a newer version of the trip delivered last, or a trip of
    /// another stream. For `nil`, a cleared trip, returns `true` if a trip was delivered before.
    mutating func isNews(_ trip: Trip?) -> Bool { self.delivered.isNews(trip) }

    /// Returns `true` if an ended trip must be delivered, and remembers it as delivered. Returns `false` for a trip
    /// that has not ended or is remembered already.
    mutating func isNews(recorded trip: Trip) -> Bool {
        trip.state == .ended && self.delivered.records.isNews(RecordName(stream: trip.stream, seq: trip.seq))
    }

    /// Returns `true` if a tracking event must be delivered, and remembers it as delivered. Returns `false` if it is
    /// remembered already.
    mutating func isNews(_ event: TrackingEvent) -> Bool {
        self.delivered.records.isNews(RecordName(stream: event.stream, seq: event.seq))
    }

    /// The state of the subscriber's connection to the broker for one trackable: whether the trackable can be received,
    /// and the reason if it cannot.
    struct Link {
        /// `true` while the subscriber is connected and the broker lets it read the trackable.
        var isConnected: Bool
        /// `true` if the trackable's state is final: another program took over the client id, or the broker rejects the
        /// trackable's name as invalid.
        var isFailed: Bool
        /// The reason why the trackable cannot be received, such as a lost connection or a rejected subscription; `nil`
        /// if it can be received, or if there is no particular reason.
        var reason: TrackingError?
    }
}

/// The times of the last signs of life of a trackable, such as its last position.
struct SignsOfLife: Sendable {
    /// The time from which the silence of the trackable is measured, to find out when the trackable becomes stale: the
    /// last live position, or the time at which the publisher or this subscriber came online. `nil` before that.
    var last: MonotonicTime?
    /// The time of the last live position, one that was not the broker's retained copy; `nil` before the first one.
    private(set) var lastArrival: MonotonicTime?
    /// The time at which the last message of the trackable's publisher arrived, by the wall clock of this computer;
    /// `nil` before the first one.
    var lastSeen: UnixTime?
    /// The wall-clock time at which the trackable was first received, or the time of its retained position. It serves
    /// as a sign of life while no message of the publisher has arrived.
    var appeared: UnixTime?
    /// `true` while the trackable is stale: no position has arrived for longer than the publisher's maximum silence
    /// plus two of its intervals.
    var isStale = false

    /// The wall-clock time of the trackable's last message, or of its first appearance if no message of its publisher
    /// has arrived; `nil` for none.
    var lastKnown: UnixTime? { self.lastSeen ?? self.appeared }

    /// Handles a live position of the trackable, one that was not the broker's retained copy: it is the newest sign of
    /// life, and the trackable is no longer stale.
    mutating func updateArrived(at moment: Moment) {
        self.last = moment.now
        self.lastArrival = moment.now
        self.lastSeen = moment.wall
        self.isStale = false
    }

    /// Restarts the time without a position at `now`, because the trackable's publisher or the subscriber's connection
    /// came online. The trackable is no longer stale.
    mutating func restart(now: MonotonicTime) {
        self.last = now
        self.isStale = false
    }
}

/// Decides for each position of one trackable if it is new, late or delivered before. Also remembers the state of the
/// position that the broker retains.
private struct PositionLane: Sendable {
    var order = UpdateOrder()
    /// A retained update that did not come from the trackable's owner when it arrived. Its publisher may turn out to be
    /// the owner. `nil` for none.
    @BoxedIfPresent var retainedOfOthers: LocationUpdate? = nil
    /// `true` if the subscriber delivered a position of the trackable to the program, and the position was not cleared
    /// since.
    private(set) var isDelivered = false
    /// The stream and the time of the owner's newest position.
    private var newest: (stream: StreamID?, time: UnixTime)?
    /// `true` if the subscriber delivered a position earlier but the broker retains none any more. If the same position
    /// then arrives again, the subscriber delivers it again.
    var isMissing = false

    mutating func received(_ update: LocationUpdate, isOwners: Bool, isRetained: Bool) -> ReceivedUpdate? {
        if self.retainedOfOthers != nil { self.retainedOfOthers = nil }
        let verdict = self.order.consider(update, isOwners: isOwners)
        let skipped = self.order.newSkipped(update)
        let wasMissing = self.isMissing
        self.isMissing = false
        // A prediction has no stream, and is no sign of the source.
        if verdict != .late, update.kind == .actual { self.newest = (update.location.stream, update.location.time) }
        guard verdict != .duplicate || wasMissing else { return nil }
        self.isDelivered = true
        return ReceivedUpdate(update: update, skipped: skipped, isLate: verdict == .late, isRetained: isRetained)
    }

    func newest(of stream: StreamID) -> UnixTime? {
        if let newest = self.newest, newest.stream == stream { return newest.time }
        guard let other = self.retainedOfOthers?.location, other.stream == stream else { return nil }
        return other.time
    }

    mutating func cleared() -> Bool {
        self.retainedOfOthers = nil
        guard self.isDelivered else { return false }
        (self.isDelivered, self.isMissing) = (false, false)
        return true
    }
}

/// The facts about one trackable that were delivered to the program last, to find out what changed.
private struct DeliveredFacts: Sendable {
    @BoxedIfPresent var resolution: ResolutionInForce? = nil
    /// The tracking events and ended trips of the trackable that were delivered to the program. They are not delivered
    /// again.
    var records = DeliveredRecords()
    var state: SubscriberState?
    var presence: PublisherPresence.Status?
    /// The publisher's text about the trackable, as far as it was delivered.
    @BoxedIfPresent var metadata: String? = nil
    private var trip: RecordName?

    /// Remembers a resolution in force as delivered. The trackable has the same object.
    mutating func share(_ resolution: BoxedIfPresent<ResolutionInForce>) { self._resolution = resolution }

    mutating func isNews(_ trip: Trip?) -> Bool {
        guard let trip else { return self.trip.take() != nil }
        if let last = self.trip, last.stream == trip.stream, trip.seq <= last.seq { return false }
        let name = RecordName(stream: trip.stream, seq: trip.seq)
        self.trip = name
        if trip.state == .ended { _ = self.records.isNews(name) }
        return true
    }
}
