import TrackingCore

/// The live output of one trackable: the updates with its newest filtered positions, and optionally its raw positions.
struct LiveOutput: Sendable {
    /// The queue of the trackable's unpublished updates with recorded positions.
    var lane: LiveLane
    /// The queue of updates with positions as the receiver measured them; `nil` if they are not published.
    private(set) var raw: LiveLane?
    /// `true` if the waiting position may be published although sending is delayed, because it was released from the
    /// delay.
    var owesUpdate = false
    private let rawStream: StreamID
    private var lastRawSeq: UInt64 = 0

    /// Makes the queues of a trackable of which nothing was published yet.
    ///
    /// - Parameters:
    ///   - resolution: The resolution of the trackable.
    ///   - rawStream: The name of the stream of raw positions.
    init(
        of trackable: Trackable, _ resolution: TrackableResolution, rawStream: StreamID,
        _ configuration: PublisherConfiguration
    ) {
        var filter = LocationFilter(
            resolution: resolution.funnel.current, rule: trackable.filter,
            maximumSilence: resolution.funnel.maximumSilence ?? trackable.maximumSilence)
        filter.ownInterval = resolution.funnel.own.desiredInterval
        self.lane = LiveLane(filter: filter)
        self.rawStream = rawStream
        self.raw = configuration.sendsRawLocations && configuration.sendsLive ? LiveLane(filter: filter) : nil
        self.deferralChanged(configuration)
    }

    /// `true` while no update is in flight (published and not acknowledged) and no position waits to be published.
    var isIdle: Bool { self.lane.isIdle && self.raw?.isIdle ?? true }

    /// Passes the trackable's changed filter rule to the update filters, which select the positions to publish.
    mutating func trackableChanged(_ trackable: Trackable) { self.changeFilters { $0.rule = trackable.filter } }

    /// Adapts the default maximum silence after the deferral of sending was configured or removed.
    ///
    /// With a deferral, updates may be as far apart as the longest deferral.
    mutating func deferralChanged(_ configuration: PublisherConfiguration) {
        let shortest = configuration.deferral == nil ? LocationFilter.usualSilence : SendDeferral.maximumWait
        self.changeFilters { $0.shortestSilence = shortest }
    }

    /// Sets the resolution in force, by which the update filters select the positions to publish.
    mutating func use(_ resolution: Resolution) { self.changeFilters { $0.resolution = resolution } }

    /// Sets the interval of the trackable's own resolution, the one without subscribers' requests. The default maximum
    /// silence is derived from it.
    mutating func use(ownInterval: Duration) {
        guard ownInterval != self.lane.filter.ownInterval else { return }
        self.changeFilters { $0.ownInterval = ownInterval }
    }

    /// Sets the longest time between two updates; `nil` derives it from the trackable's own interval.
    mutating func use(maximumSilence: Duration?) {
        guard maximumSilence != self.lane.filter.maximumSilence else { return }
        self.changeFilters { $0.maximumSilence = maximumSilence }
    }

    /// Handles that the device's clock was set. The next fix then counts as the first, because the earlier times cannot
    /// be compared with it.
    mutating func clockStepped() { self.changeFilters { $0.clockStepped() } }

    private mutating func changeFilters(_ change: (inout LocationFilter) -> Void) {
        change(&self.lane.filter)
        if self.raw != nil { change(&self.raw!.filter) }
    }

    /// Begins to publish raw positions (`true`), or stops and discards those that wait (`false`).
    mutating func publishRaw(_ isWanted: Bool) {
        self.raw = isWanted ? self.raw ?? LiveLane(filter: self.lane.filter) : nil
    }

    /// Passes a captured fix to the queue of raw updates, if raw positions are published.
    ///
    /// - Parameters:
    ///   - fix: The position as the receiver measured it.
    ///   - wallClock: The device's time; `nil` while the clock is not set.
    mutating func capturedRaw(_ fix: Location, now: MonotonicTime, wallClock: UnixTime?) {
        var location = fix
        self.lastRawSeq += 1
        location.seq = self.lastRawSeq
        location.stream = self.rawStream
        _ = self.raw?.captured(location, now: now, wallClock: wallClock)
    }

    /// Returns the raw update to publish now; `nil` if there is none.
    mutating func nextRaw(now: MonotonicTime) -> LocationUpdate? { self.raw?.next(now: now) }

    /// Handles the broker's answer to the raw update in flight. The next raw update may then be published, even after a
    /// rejection.
    mutating func rawAnswered() { self.raw?.acknowledged() }

    /// Applies the privacy zones to every position that is remembered for publishing: replaces it by the result of
    /// `shown`, or removes it if that is `nil`.
    ///
    /// - Returns: The effects on the filtered (`lane`) and on the raw updates: if the update in flight or the last
    ///   published update contained a replaced or removed position.
    mutating func hide(_ shown: (Location) -> Location?) -> (lane: LiveLane.Hiding, raw: LiveLane.Hiding?) {
        (self.lane.hide(shown), self.raw?.hide(shown))
    }

    /// Discards the filtered positions that were remembered for publishing, because the log begins a new stream and
    /// their record names belong to the old one. Raw positions remain.
    mutating func beginStream() { self.lane = LiveLane(filter: self.lane.filter) }

    /// Discards the remembered positions up to and including `watermark`, so that they are not published again; `nil`
    /// discards all of them.
    mutating func forget(through watermark: Location?) {
        self.lane.forget(through: watermark)
        self.raw?.forget(through: watermark)
    }

    /// Handles that the publisher stops and gets no more fixes: the newest fix waits to be published, even if the
    /// update filter skipped it.
    mutating func finish(wallClock: UnixTime?) {
        self.lane.finish(wallClock: wallClock)
        self.raw?.finish(wallClock: wallClock)
    }

    /// Handles that the connection was lost. A position whose update the broker has not answered waits to be published
    /// again.
    mutating func connectionLost() {
        self.lane.failed()
        self.raw?.failed()
    }
}
