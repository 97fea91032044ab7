import TrackingCore

/// Everything a publisher knows and decides about one of its trackables, apart from its connection.
///
/// What is large is boxed: it is looked at and changed in a dictionary, many times an event.
struct TrackedAsset: Sendable {
    /// A refusal by the broker's rules: held back until `retryAt`, with growing waits.
    struct Refusal: Hashable, Sendable {
        var error: TrackingError
        var retryAt: MonotonicTime
        var wait: Duration
    }

    @Boxed var trackable: Trackable
    /// This life of the log.
    private(set) var stream: StreamID
    /// What goes next on the recording lane.
    @Boxed var spool: SpoolStateMachine
    /// Records up to here are on disk, or could not be written: only these are sent.
    private(set) var written: UInt64
    @Boxed var trip: TripStateMachine
    /// The trip that ended last, in this run.
    @Boxed var lastTrip: Trip? = nil
    /// The last fix that was recorded.
    @Boxed var lastFix: Location? = nil
    /// Where its events happen.
    @Boxed var places = EventPlaces()
    /// A version of the trip that was not shown yet.
    @Boxed var unshownTrip: Trip? = nil
    /// The version of a trip that was shown last, in this run.
    @Boxed var shownTrip: Trip? = nil
    /// Records that the broker took on this connection before the own presence came back on it.
    var takenEarly = SeqSet()
    let rawStream: StreamID
    @Boxed var funnel: ResolutionStateMachine
    /// The resolution in force, which follows the funnel's at most once a second.
    private(set) var damper: ResolutionDamper
    @Boxed var proximity: ProximityStateMachine
    @Boxed var lane: LiveLane
    @Boxed var rawLane: LiveLane? = nil

    /// How new what was told of it is, where its records come from outside; `nil` where the device's own fixes feed it.
    var fed: ToldTimes?
    /// What tells a low battery; `nil`: nothing does.
    var lowBattery: LowBatteryDetector?
    /// Whether a position was let go that did not go out yet, though newer ones are held back.
    var owesUpdate = false
    /// Whether records were let go that wait for that position.
    var owesRecords = false
    /// Whether positions go out live.
    let sendsLive: Bool
    /// Whether anything goes out without being asked for.
    var sendsByItself: Bool

    /// When it was added, once the standing publishers were read; the latest owns the trackable.
    var since: UnixTime?
    /// Whether it was announced on this connection, after what stands there was read.
    var isEntered = false
    var isPresenceConfirmed = false
    var isUpdateAcknowledged = false
    @Boxed var refusal: Refusal? = nil
    @Boxed var failure: TrackingError? = nil
    /// As last told to the caller.
    var state = PublisherState.offline
    /// Why, as last told to the caller.
    var stateReason: TrackingError.Code?
    /// As last published; `nil` when it must be published again.
    @Boxed var published: ResolutionInForce? = nil
    /// How many publishes of the resolution in force are not answered.
    var resolutionsUnderWay = 0
    /// The pause after the last publish of the resolution in force on this connection.
    var resolutionPause = ChangePause()
    /// As last told to the caller.
    @Boxed var told: ResolutionInForce? = nil
    /// How long the last refusal was waited for; `nil` after an update was acknowledged.
    var lastWait: Duration?

    /// The last number that was given out in the stream.
    private(set) var lastSeq: UInt64
    private var lastRawSeq: UInt64 = 0

    init(
        trackable: Trackable, stream: StreamID, rawStream: StreamID, lastSeq: UInt64, spool: SpoolStateMachine,
        funnel: ResolutionStateMachine, trip: TripStateMachine, configuration: PublisherConfiguration
    ) {
        self.trackable = trackable
        self.stream = stream
        self.lastSeq = lastSeq
        self.written = lastSeq
        self.spool = spool
        self.trip = trip
        self.rawStream = rawStream
        self.funnel = funnel
        self.damper = ResolutionDamper(funnel.current)
        self.proximity = ProximityStateMachine(
            destination: trackable.destination, threshold: trackable.constraints?.proximityThreshold)
        var filter = LocationFilter(
            resolution: funnel.current, rule: trackable.filter, maximumSilence: trackable.maximumSilence)
        filter.ownInterval = funnel.own.desiredInterval
        filter.shortestSilence = Self.shortestSilence(configuration)
        self.lane = LiveLane(filter: filter)
        self.sendsLive = configuration.sendsLive
        self.sendsByItself = configuration.recording.batchWindow != nil
        self.rawLane = configuration.sendsRawLocations && configuration.sendsLive ? LiveLane(filter: filter) : nil
        self.lowBattery = Self.lowBattery(of: trackable, default: configuration.lowBattery)
    }

    private static func shortestSilence(_ configuration: PublisherConfiguration) -> Duration {
        configuration.deferral == nil ? LocationFilter.usualSilence : SendDeferral.maximumWait
    }

    /// Sending waits until some way was gone, or does not any more: it may be silent for as long.
    mutating func deferralMayHaveChanged(_ configuration: PublisherConfiguration) {
        self.lane.filter.shortestSilence = Self.shortestSilence(configuration)
        self.rawLane?.filter.shortestSilence = Self.shortestSilence(configuration)
    }

    /// The threshold of its own counts in place of the device's.
    private static func lowBattery(
        of trackable: Trackable, default standard: LowBatteryDetector?
    ) -> LowBatteryDetector? {
        guard let own = trackable.constraints?.batteryLevelThreshold, own > 0 else { return standard }
        return try? LowBatteryDetector(threshold: own)
    }

    /// The trackable was changed: a crossing of another threshold is another crossing.
    mutating func lowBatteryMayHaveChanged(default standard: LowBatteryDetector?) {
        let next = Self.lowBattery(of: self.trackable, default: standard)
        if next?.threshold != self.lowBattery?.threshold { self.lowBattery = next }
    }

    /// Whether this side may publish it now, given a connection that is announced.
    var isSending: Bool { self.failure == nil && self.refusal == nil && self.since != nil && self.isEntered }

    /// Nothing of it is on its way or waits to be.
    var isIdle: Bool {
        guard self.isWritten else { return false }
        return self.failure != nil || (self.lane.isIdle && self.rawLane?.isIdle ?? true)
    }

    /// Whether nothing of it waits for the broker.
    var isSent: Bool { self.isIdle && self.spool.unsent == 0 }

    /// Whether everything that was captured is in the log, or could not be.
    var isWritten: Bool { self.written == self.lastSeq }

    /// Whether records may be sent now. What is left of a trackable that another publisher owns still drains.
    func isOpenForRecords(isAnnounced: Bool, isAlive: Bool) -> Bool {
        guard isAnnounced else { return false }
        if let failure = self.failure { return failure.code == .takenOver && isAlive }
        return self.isSending && self.isPresenceConfirmed
    }

    /// When an update must go out even if nothing moves; `nil` when never.
    ///
    /// - Parameter isHolding: Whether what waits is held back.
    func silenceDeadline(isHolding: Bool) -> MonotonicTime? {
        self.isSending && self.trackable.isRepeated ? self.lane.silenceDeadline(isHolding: isHolding) : nil
    }

    /// Records up to `seq` are in the log, or could not be written.
    mutating func wrote(through seq: UInt64) { self.written = max(self.written, seq) }

    /// Tells the log's decider something.
    ///
    /// - Parameter batchesAhead: How many batches it may hold in memory.
    mutating func ask(
        batchesAhead: Int, _ question: (inout SpoolStateMachine) -> [SpoolStateMachine.Action]
    ) -> [SpoolStateMachine.Action] {
        self.spool.batchesAhead = batchesAhead
        return question(&self.spool)
    }

    /// The log begins a new life.
    mutating func beginStream(_ stream: StreamID, after last: UInt64) {
        self.stream = stream
        self.lastSeq = last
        self.written = last
        self.takenEarly = SeqSet()
        // What waits to be sent bears names of the old life.
        self.lane = LiveLane(filter: self.lane.filter)
    }

    /// Where it was up to a position that was told is not to be told again.
    mutating func forgetPosition(through told: Location?) {
        self.lane.forget(through: told)
        self.rawLane?.forget(through: told)
        self.lastTrip = nil
        guard self.lastFix?.came(after: told) != true else { return }
        self.lastFix = nil
        self.places = EventPlaces()
    }

    /// What its log holds, with every number that was given out: some may still be on their way to the disk.
    var held: SpoolContents.Trackable {
        var held = SpoolContents.Trackable(streams: self.spool.contents, current: self.stream)
        held.change(self.stream) { $0.last = max($0.last, self.lastSeq) }
        return held
    }

    mutating func nextSeq() -> UInt64 {
        self.lastSeq += 1
        return self.lastSeq
    }

    /// The name that the next record gets.
    var nextName: RecordName { RecordName(stream: self.stream, seq: self.lastSeq + 1) }

    /// Gives a fix its name in this trackable's stream.
    mutating func captured(_ fix: Location) -> Location {
        var location = fix
        location.seq = self.nextSeq()
        location.stream = self.stream
        location.tripID = self.trip.current?.id ?? location.tripID
        return location
    }

    mutating func capturedRaw(_ fix: Location) -> Location {
        var location = fix
        self.lastRawSeq += 1
        location.seq = self.lastRawSeq
        location.stream = self.rawStream
        return location
    }

    /// Takes in changes of conditions that the resolution depends on; together they are one change.
    mutating func reconsider(_ changes: [ConditionChange], now: MonotonicTime) {
        for change in changes { _ = self.funnel.changed(change) }
        let ownInterval = self.funnel.own.desiredInterval
        if ownInterval != self.lane.filter.ownInterval {
            self.lane.filter.ownInterval = ownInterval
            self.rawLane?.filter.ownInterval = ownInterval
        }
        self.use(self.damper.decided(self.funnel.current, now: now))
    }

    /// Puts a resolution into force that waited for the end of the pause.
    mutating func dampingEnded(now: MonotonicTime) { self.use(self.damper.timerFired(now: now)) }

    private mutating func use(_ resolution: Resolution?) {
        guard let resolution else { return }
        self.lane.filter.resolution = resolution
        self.rawLane?.filter.resolution = resolution
    }

    /// The state, from what is known; `nil` of `isAnnounced` connection means none.
    func state(isConnected: Bool, isAlive: Bool) -> PublisherState {
        if self.failure != nil { return .failed }
        guard isConnected, self.refusal == nil else { return .offline }
        return isAlive && self.isPresenceConfirmed && self.isUpdateAcknowledged ? .online : .publishing
    }

    /// What the world is told about the resolution, and why.
    var inForce: ResolutionInForce {
        ResolutionInForce(
            resolution: self.damper.current, isNear: self.funnel.conditions.isNear,
            subscribers: self.funnel.conditions.subscribers, isLowBattery: self.funnel.isLowBattery, state: self.state,
            filter: self.trackable.filter,
            // Where nothing is sent live by itself, or nothing again, no update is to be expected.
            maximumSilence: self.sendsLive && self.sendsByItself && self.trackable.isRepeated
                ? self.lane.filter.effectiveMaximumSilence : .zero)
    }

    /// The connection is gone: what was in flight is lost with it.
    mutating func connectionLost() {
        self.isEntered = false
        self.isPresenceConfirmed = false
        self.isUpdateAcknowledged = false
        self.published = nil
        self.resolutionsUnderWay = 0
        self.resolutionPause = ChangePause()
        self.lane.failed()
        self.rawLane?.failed()
        // What was cleared meanwhile, as what is erased is, nobody tells: who only passes positions on does not bring one back.
        if self.fed != nil { self.lane.forgetTaken() }
    }

    /// The broker's rules forbid it: try again after a wait that grows to 15 minutes.
    mutating func refused(_ error: TrackingError, now: MonotonicTime) {
        // Several refusals in one breath are one.
        guard self.refusal == nil else { return }
        // Being tried again is not being online.
        self.isPresenceConfirmed = false
        self.isUpdateAcknowledged = false
        let wait = min((self.lastWait ?? .milliseconds(500)) * 2, .seconds(900))
        self.refusal = Refusal(error: error, retryAt: now.advanced(by: wait), wait: wait)
    }
}
