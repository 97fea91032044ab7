import TrackingCore

/// Everything a subscriber knows and decides about one trackable.
struct WatchedAsset: Sendable {
    let id: TrackableID
    var request: Resolution?
    @Boxed var order = UpdateOrder()
    @Boxed var rawOrder = UpdateOrder()
    /// Of the publishers present, the one with the latest `since`; a tie goes to the greater session.
    @Boxed var owner: Member? = nil
    /// What the broker keeps of a stream that is not the owner's, as far as that is known: perhaps of who came meanwhile.
    @Boxed var keptOfOthers: LocationUpdate? = nil
    /// As it stands at the broker.
    @Boxed var resolution: ResolutionInForce? = nil
    /// As last told to the caller.
    @Boxed var toldResolution: ResolutionInForce? = nil
    /// The last arrival that was not the broker's kept copy, or the moment it came online.
    var lastSign: MonotonicTime?
    var lastArrival: MonotonicTime?
    var lastSeen: UnixTime?
    /// When it showed up by itself; where the broker had kept a position of it, when that was.
    var shown: UnixTime?
    var isStale = false
    var since: UnixTime?
    /// Whether a position of it was told, and not cleared since.
    var isLocated = false
    /// Whether the broker kept no position of it, though one was told: the same one is news again.
    var isMissing = false
    /// The version of the trip that was told last.
    var toldTrip: RecordName?
    /// The events, and the trips that ended, that were told.
    @Boxed private var toldRecords = ToldNames()
    /// As last told to the caller.
    var toldState: SubscriberState?
    var toldPresence: PublisherPresence.Status?

    init(id: TrackableID, request: Resolution?) {
        self.id = id
        self.request = request
    }

    /// The last sign of it that is known of, by the wall clock; `nil` for none.
    var lastHeard: UnixTime? { self.lastSeen ?? self.shown }

    /// Whether this version of a trip is newer than the one that was told, or the first one of its stream; or whether a trip
    /// that was told is cleared.
    mutating func isNews(_ trip: Trip?) -> Bool {
        guard let trip else { return self.toldTrip.take() != nil }
        if let told = self.toldTrip, told.stream == trip.stream, trip.seq <= told.seq { return false }
        self.toldTrip = RecordName(stream: trip.stream, seq: trip.seq)
        if trip.state == .ended { _ = self.toldRecords.isNews(RecordName(stream: trip.stream, seq: trip.seq)) }
        return true
    }

    /// Whether this trip ended, and that was not told before, as far as that is remembered.
    mutating func isNews(recorded trip: Trip) -> Bool {
        trip.state == .ended && self.toldRecords.isNews(RecordName(stream: trip.stream, seq: trip.seq))
    }

    /// Whether this event was not told before, as far as that is remembered.
    mutating func isNews(_ event: TrackingEvent) -> Bool {
        self.toldRecords.isNews(RecordName(stream: event.stream, seq: event.seq))
    }

    /// The resolution in force: what stands is believed while a publisher is present.
    var resolutionInForce: ResolutionInForce? { self.owner == nil ? nil : self.resolution }

    /// When it is too long without a sign; `nil` while nothing is expected.
    var staleDeadline: MonotonicTime? {
        guard !self.isStale, let lastSign = self.lastSign, let resolution = self.resolutionInForce,
            resolution.maximumSilence > .zero
        else { return nil }
        return lastSign.advanced(by: resolution.maximumSilence + resolution.resolution.desiredInterval * 2)
    }

    /// When the next update is due if the trackable moves.
    var nextExpected: MonotonicTime? {
        guard let interval = self.resolutionInForce?.resolution.desiredInterval else { return nil }
        return self.lastArrival?.advanced(by: interval)
    }

    func state(isConnected: Bool, failure: TrackingError?) -> SubscriberState {
        if failure != nil { return .failed }
        guard isConnected, self.owner != nil else { return .offline }
        return self.isStale ? .stale : .online
    }

    /// Whether an update of this stream counts: the owner's, or any where no owner is known.
    func isOfOwner(_ stream: StreamID?) -> Bool {
        guard let owned = self.owner?.presence.stream, let stream else { return true }
        return owned == stream
    }

    /// What an update that counts is; what was kept of others is nothing beside it.
    mutating func consider(_ update: LocationUpdate) -> UpdateOrder.Verdict {
        if self.keptOfOthers != nil { self.keptOfOthers = nil }
        let stream = update.location.stream
        return self.order.consider(update, isOwners: stream != nil && stream == self.owner?.presence.stream)
    }

    /// Something live arrived.
    mutating func heardFrom(now: MonotonicTime, wall: UnixTime) {
        self.lastSign = now
        self.lastArrival = now
        self.lastSeen = wall
        self.isStale = false
    }
}
