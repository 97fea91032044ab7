public import TrackingCore

/// What a publisher says on its connection, sends on the live lane and asks of its source. Touches no socket, clock or log.
///
/// Everything enters through ``happened(_:at:)`` and leaves as actions; what is to happen later is ``nextDeadline``.
public struct PublisherStateMachine: Sendable {
    enum Purpose: Hashable, Sendable {
        /// What was subscribed to at once: three filters a trackable, in this order.
        case all([TrackableID])
        /// Answered once what stands on all of it was read; also of these, which are not carried, who publishes them.
        case settle([TrackableID], leftTo: [TrackableID])
        case adding(TrackableID)
        /// Answered once what stands on the filters of this trackable was read.
        case entering(TrackableID)
        case update(TrackableID)
        case raw(TrackableID)
        case history(TrackableID)
        case presence(TrackableID)
        case resolution(TrackableID)
        /// The end of its trip, of what is not carried any more.
        case departure(TrackableID)
        /// What stood there is to go.
        case clearing(Topic)
        /// The command topics of these trackables, in this order.
        case commands([TrackableID])
        case other
    }

    enum Timer: Hashable, Sendable {
        case silence(TrackableID)
        case announce(TrackableID)
        case retry(TrackableID)
        /// What the broker refuses of this trackable, and it goes on without, is tried again.
        case lesser(TrackableID)
        /// Something of this trackable or its log is due.
        case asset(TrackableID)
        /// A change of the resolution, or of its message, waits for the end of the pause after the last one.
        case resolution(TrackableID)
        /// Nothing came of a trackable that is fed from outside.
        case lease(TrackableID)
        /// Nobody waits any longer for what was brought under this number.
        case intake(TrackableID, UInt64)
        /// Nobody waits any longer for the fix that was asked for.
        case report
        /// What was asked before this connection, and not heard again on it, counts no more.
        case requests
        case leave
    }

    var configuration: PublisherConfiguration
    let policy: any ResolutionPolicy
    var random: SplitMix64
    var session: SessionStateMachine
    var presence = PresenceStateMachine()
    /// Requests of those not present yet, and of those present.
    var requests: [TrackableID: [ClientID: [SessionID: Resolution]]] = [:]
    /// The limit of each client's requests.
    var requestLimits = RequestLimiter()
    /// Whose requests were not heard again on this connection.
    var unconfirmed: [TrackableID: Set<ClientID>] = [:]
    /// Where there is no room for more requests: nobody is looked through again until somebody leaves.
    var crowded: Set<TrackableID> = []
    /// Where something of its own may stand that is to go, with the number of the message that clears it; 0 before one was sent.
    /// What the broker has not taken when a connection is lost is sent again on the next.
    var unclear: [Topic: TransportToken] = [:]
    /// The time of the last ``drainForRecorder(at:)`` that looked for records.
    var lastDrain: MonotonicTime?
    /// What the broker refuses, and trackables go on without.
    var lesserRefusals: [TrackableID: LesserRefusals] = [:]
    var assets = AssetTable()
    /// What was brought from outside and not answered yet.
    var intakes: [TrackableID: IntakeQueue] = [:]
    /// What ``progress(at:)`` depended on when it was last done for every trackable.
    var conditions: Conditions?
    /// What the log holds of trackables that are not carried.
    var logs: [TrackableID: SpoolContents.Trackable]
    /// What ended with the trackables that were removed, until the broker has taken it.
    var departures: [TrackableID: Departure]
    /// The publisher's own values, as the log kept them.
    var kept: [String: [UInt8]]
    /// Which commands are carried out.
    var gate: CommandGate
    /// Who asked for a fix now and has none yet.
    var reports: [UInt64] = []
    /// The connection, for those who ask.
    var link = PublisherSnapshot.Link()
    @Boxed var capture: CaptureStateMachine?
    var deferral: SendDeferral?
    /// Whether what is deferred goes at the end of this step.
    var isReleaseDue = false
    var outstanding: [TransportToken: Purpose] = [:]
    var timers = DeadlineQueue<Timer>()
    var clock = ClockStep()
    /// Whether records may be let go for their age.
    public internal(set) var ages = AgeTrust()
    var battery: Double?
    var sensor: Resolution?
    /// Events that wait to be told.
    var unsentEvents = UnsentEvents()
    /// The clients whose liveness is listened to.
    var watched: Set<ClientID> = []
    var stop: Stop?
    /// Who waits until records are sent.
    var senders: [SendingRequest] = []
    /// When an update or a batch was last sent, and one acknowledged.
    var lastAttempt: UnixTime?
    var lastAcknowledged: UnixTime?
    /// Why the broker refuses this device as a whole; `nil` while it does not, or is being asked again.
    var connectionRefusal: TrackingError?
    private var lastToken: TransportToken = 0
    /// How many messages could not be read.
    public internal(set) var badMessages = 0

    enum Stop: Hashable, Sendable {
        /// Waiting for what is on its way. Can transition to: `closing`.
        case finishing(by: MonotonicTime?)
        /// The goodbye is on its way. Final.
        case closing
    }

    /// The most publishes of a trackable's resolution that may be unanswered; further changes wait, and the last of them goes
    /// out: however many come and go, nothing waits behind all of them.
    static let maximumResolutionsUnderWay = 32

    /// Starts a publisher that carries nothing and is not connected.
    ///
    /// - Parameters:
    ///   - logs: What the device's log holds.
    ///   - kept: The publisher's own values, as the log kept them.
    ///   - seed: What random moments and names are drawn from.
    public init(
        configuration: PublisherConfiguration, policy: any ResolutionPolicy,
        logs: [TrackableID: SpoolContents.Trackable] = [:],
        kept: [String: [UInt8]] = [:], seed: UInt64
    ) {
        self.configuration = configuration
        self.logs = logs
        self.kept = kept
        self.departures = Self.departures(in: kept)
        self.gate = CommandGate(keeping: kept[Self.commandsKey])
        self.capture = configuration.capture
        self.deferral = configuration.deferral
        self.policy = policy
        self.random = SplitMix64(seed: seed)
        self.session = SessionStateMachine(
            client: configuration.client, session: configuration.session, lease: configuration.lease)
    }

    /// When `timer` is to happen; `nil` when never.
    public var nextDeadline: MonotonicTime? {
        guard self.stop != .closing else { return nil }
        var next = MonotonicTime.earlier(self.session.nextDeadline, self.presence.nextDeadline)
        next = .earlier(next, .earlier(self.timers.next, self.capture?.nextDeadline))
        next = .earlier(next, self.deferral?.nextDeadline)
        next = .earlier(next, self.requestLimits.nextDeadline)
        for sender in self.senders { next = .earlier(next, sender.nextDeadline) }
        return next
    }

    /// Whether the connection was closed for good: nothing will happen any more.
    public internal(set) var isClosed = false

    /// The trackables that are carried.
    public var trackables: [Trackable] { self.assets.values.map(\.trackable) }

    /// Whether anything goes out without being asked for.
    var sendsByItself: Bool { self.configuration.recording.batchWindow != nil }

    /// The one entrance: what happened, and when, on the device's clocks.
    public mutating func happened(_ event: Event, at device: Moment) -> [Action] {
        let moment = self.trusted(device)
        guard self.stop != .closing else { return self.afterGoodbye(event, at: moment) }
        var actions: [Action] = []
        if let step = self.clock.told(monotonic: device.now, wall: device.wall) {
            self.ages.clockStepped(by: step)
            actions += self.clockStepped(by: step, at: moment)
        }
        switch event {
        case .transport(let event): actions += self.happened(event, at: moment)
        case .fix(let fix, let raw): actions += self.told(fix, raw: raw, device: device, at: moment)
        case .battery(let percent): actions += self.batteryRead(percent, at: moment)
        case .add(let trackable): actions += self.add(trackable, at: moment)
        case .remove(let id): actions += self.remove(id, at: moment)
        case .change(let trackable): actions += self.change(trackable, at: moment)
        case .log(let id, let event): actions += self.happened(event, to: id, at: moment)
        case .trip(let id, let mode, let request): actions += self.trip(id, mode, request, at: moment)
        case .sendRecords(let all): actions += self.sendRecords(all: all, at: moment)
        case .report(let request): actions += self.report(request, at: moment)
        case .snapshot(let request):
            actions.append(.answered(request: request, .success(.snapshot(self.snapshot(at: moment)))))
        case .configure(let configuration): actions += self.configure(configuration, at: moment)
        case .answer(let answer, let command): actions += self.answer(answer, to: command, at: moment)
        case .asked(let request, let number): actions += self.asked(request, number, at: moment)
        case .take(let drafts, let id, let deadline, let request):
            actions += self.take(.init(request: request, drafts: drafts), of: id, by: deadline, at: moment)
        case .drain: actions += self.drain(at: moment)
        case .forget(let id, let told): self.assets[id]?.forgetPosition(through: told)
        case .notice(let kind, let detail):
            for id in self.assets.keys { actions += self.tell(kind, detail, of: id, at: moment) }
        case .stop(let deadline): actions += self.stop(by: deadline, at: moment)
        case .timer: break
        }
        actions += self.timersFired(at: moment)
        self.keepDeferral(at: moment)
        actions += self.progress(at: moment)
        actions += self.answerSenders(at: moment)
        return Self.joined(actions)
    }

    /// Nothing is said after the goodbye: not even that it is no late will.
    private mutating func afterGoodbye(_ event: Event, at moment: Moment) -> [Action] {
        guard case .transport(.disconnected(let disconnection)) = event else { return [] }
        return Self.joined(self.disconnected(disconnection, at: moment))
    }

    mutating func token(_ purpose: Purpose) -> TransportToken {
        self.lastToken += 1
        self.outstanding[self.lastToken] = purpose
        return self.lastToken
    }

    /// Neighbouring commands become one action, so that they reach the connection together.
    private static func joined(_ actions: [Action]) -> [Action] {
        guard actions.count > 1 else { return actions }
        return actions.reduce(into: []) { joined, action in
            if case .send(let more) = action, case .send(let commands)? = joined.last {
                joined[joined.count - 1] = .send(commands + more)
            } else {
                joined.append(action)
            }
        }
    }
}
