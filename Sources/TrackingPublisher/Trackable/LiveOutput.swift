import TrackingCore

/// The live lanes of one trackable: the filtered one, and the raw one where raw locations are published.
struct LiveOutput: Sendable {
    /// The lane of the captured positions.
    var lane: LiveLane
    /// The lane of the positions as the receiver measured them; `nil` where they are not published.
    private(set) var raw: LiveLane?
    /// `true` while a position waits that goes out although sending is deferred again for newer ones.
    var owesUpdate = false
    private let rawStream: StreamID
    private var lastRawSeq: UInt64 = 0

    /// Makes lanes on which nothing was published.
    init(filter: LocationFilter, rawStream: StreamID, configuration: PublisherConfiguration) {
        self.lane = LiveLane(filter: filter)
        self.rawStream = rawStream
        self.raw = configuration.sendsRawLocations && configuration.sendsLive ? LiveLane(filter: filter) : nil
        self.deferralChanged(configuration)
    }

    /// `true` while no update is in flight and none waits.
    var isIdle: Bool { self.lane.isIdle && self.raw?.isIdle ?? true }

    /// Another filter rule and maximum silence of the trackable are in force.
    mutating func trackableChanged(_ trackable: Trackable) {
        self.changeFilters { filter in
            filter.rule = trackable.filter
            filter.maximumSilence = trackable.maximumSilence
        }
    }

    /// Deferred sending began or ended: a lane may be silent for as long as it takes.
    mutating func deferralChanged(_ configuration: PublisherConfiguration) {
        let shortest = configuration.deferral == nil ? LocationFilter.usualSilence : SendDeferral.maximumWait
        self.changeFilters { $0.shortestSilence = shortest }
    }

    /// Another resolution is in force.
    mutating func use(_ resolution: Resolution) { self.changeFilters { $0.resolution = resolution } }

    /// The trackable's own resolution has another interval.
    mutating func use(ownInterval: Duration) {
        guard ownInterval != self.lane.filter.ownInterval else { return }
        self.changeFilters { $0.ownInterval = ownInterval }
    }

    /// The device's wall clock was set.
    mutating func clockStepped() { self.changeFilters { $0.clockStepped() } }

    private mutating func changeFilters(_ change: (inout LocationFilter) -> Void) {
        change(&self.lane.filter)
        if self.raw != nil { change(&self.raw!.filter) }
    }

    /// Begins or ends the raw lane.
    mutating func publishRaw(_ isWanted: Bool) {
        self.raw = isWanted ? self.raw ?? LiveLane(filter: self.lane.filter) : nil
    }

    /// A fix was captured; `fix` is the position as the receiver measured it.
    mutating func capturedRaw(_ fix: Location, now: MonotonicTime, wallClock: UnixTime?) {
        var location = fix
        self.lastRawSeq += 1
        location.seq = self.lastRawSeq
        location.stream = self.rawStream
        _ = self.raw?.captured(location, now: now, wallClock: wallClock)
    }

    /// The raw update to publish now; `nil` where there is none.
    mutating func nextRaw(now: MonotonicTime) -> LocationUpdate? { self.raw?.next(now: now) }

    /// The broker acknowledged or rejected the raw update.
    mutating func rawAnswered() { self.raw?.acknowledged() }

    /// Replaces every position by the result of `shown`; `nil` removes it.
    ///
    /// - Returns: The change of each lane.
    mutating func hide(_ shown: (Location) -> Location?) -> (lane: LiveLane.Hiding, raw: LiveLane.Hiding?) {
        (self.lane.hide(shown), self.raw?.hide(shown))
    }

    /// The log begins a new stream: waiting positions have names of the old one.
    mutating func beginStream() { self.lane = LiveLane(filter: self.lane.filter) }

    /// Suppresses positions up to and including `watermark`.
    mutating func forget(through watermark: Location?) {
        self.lane.forget(through: watermark)
        self.raw?.forget(through: watermark)
    }

    /// No more fixes will come.
    mutating func finish(wallClock: UnixTime?) {
        self.lane.finish(wallClock: wallClock)
        self.raw?.finish(wallClock: wallClock)
    }

    /// The connection was lost, and every update in flight with it.
    mutating func connectionLost() {
        self.lane.failed()
        self.raw?.failed()
    }
}
