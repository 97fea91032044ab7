public import TrackingCore

/// What a publisher says on its connection, sends on the live lane and asks of its source. Touches no socket, clock or log.
///
/// Everything enters through ``happened(_:at:)`` and leaves as actions; what is to happen later is ``nextDeadline``.
public struct PublisherStateMachine: Sendable {
    /// What happened.
    public enum Event: Hashable, Sendable {
        /// On the connection.
        case transport(TransportEvent)
        /// The source told a position; `raw` is what the receiver said where it was corrected.
        case fix(Location, raw: Location)
        /// The battery was read, in percent; `nil` is unknown.
        case battery(Double?)
        /// The caller wants this carried.
        case add(Trackable)
        /// The caller does not want this carried any more.
        case remove(TrackableID)
        /// The caller says something new of what is carried: destination, constraints, filter.
        case change(Trackable)
        /// What was asked to be written or read of the log was done, or could not be.
        case log(TrackableID, LogEvent)
        /// The user begins a trip, with a mode, or ends it, without one; answered under this number.
        case trip(TrackableID, TripMode?, request: UInt64)
        /// Send what waits in the log: one batch of each trackable, or everything.
        case sendRecords(all: Bool)
        /// Take one fix and tell it, whatever the resolution in force; answered under this number.
        case report(request: UInt64)
        /// Tell how things stand; answered under this number.
        case snapshot(request: UInt64)
        /// The caller chose otherwise: what of it may change while it runs comes into force.
        case configure(PublisherConfiguration)
        /// A command from the broker was carried out, or was not: this is to be answered.
        case answer(CommandAnswer, to: ReceivedCommand)
        /// The caller asks something of the log; answered under this number.
        case asked(LogRequest, request: UInt64)
        /// Somebody brought records of a trackable, and waits so long for them to be safe; answered under this number.
        case take([RecordDraft], of: TrackableID, by: MonotonicTime, request: UInt64)
        /// Carry what the log holds records of, until they are safe.
        case drain
        /// Something to tell everyone about, for every trackable.
        case notice(TrackingEvent.Kind, [String: TrackingEvent.DetailValue])
        /// No more is to come: send what waits, take leave and close; not later than `by`, where one is given.
        case stop(by: MonotonicTime?)
        /// The next deadline came.
        case timer
    }

    /// What became of something that was asked of the log.
    public enum LogEvent: Hashable, Sendable {
        /// These are on disk.
        case appended(StreamID, SeqSet)
        /// These could not be written.
        case appendFailed(StreamID, SeqSet, TrackingError)
        /// The query of this number found these; `missing` were damaged or are not there.
        case loaded(SpoolRecords, missing: SeqSet, query: UInt64)
        /// What the query of this number asks for could not be read; it is tried again.
        case readFailed(query: UInt64)
        /// Of what was to be found these are known, under these names.
        case found([RecordMark: RecordName])
        /// It could not be looked up.
        case findFailed(TrackingError)
        /// The log was damaged and opened anew: this is left of it.
        case reopened(SpoolContents.Trackable)
        /// These were let go unsent, to keep to the log's limits.
        case dropped(StreamID, SeqSet)
        /// This was set aside, durably.
        case setAside(StreamID, UInt64)
        /// This could not be set aside.
        case setAsideFailed(StreamID, UInt64)
        /// These were set aside, and are records of the log under these numbers; the request asked for that.
        case putBack(StreamID, SeqSet, request: UInt64)
        /// They could not be put back; the numbers are given out.
        case putBackFailed(StreamID, SeqSet, TrackingError, request: UInt64)
    }

    /// What the caller asks of the log.
    public enum LogRequest: Hashable, Sendable {
        /// Send a batch of each trackable, or join the one on its way: answered with `records`.
        case sendNow
        /// Send everything that waits: `progressed` now and then, answered with `records`.
        case flush
        /// Forget everything that waits: answered with `records`.
        case purge
        /// Put these, which were set aside, back in line: answered with `records`.
        case putBack([QuarantinedRecord], of: TrackableID)
        /// Carry this in place of what is carried: answered with `bound`.
        case bind(Trackable, unsent: UnsentPoints)
        /// Tell how sending goes: answered with `sending`.
        case sending
    }

    /// What came of a request.
    public enum Answer: Hashable, Sendable {
        /// The trip that began or ended.
        case trip(Trip)
        /// So many records.
        case records(Int)
        /// The trackable is carried.
        case bound
        /// The names of the records that were brought, in their order.
        case taken([RecordName])
        /// How sending goes.
        case sending(SendingFigures)
        /// The fix that was asked for was recorded.
        case reported
        /// How things stand.
        case snapshot(PublisherSnapshot)
    }

    /// What is asked of the log.
    public enum LogAction: Hashable, Sendable {
        /// Write it, with what it is known by when it comes again; answered by `appended` or `appendFailed`.
        case append(StreamID, SpoolRecord, mark: RecordMark? = nil)
        /// Look up which of these are known; answered by `found` or `findFailed`. Nothing is being written that has one of them.
        case find([RecordMark])
        /// Read these; answered by `loaded` or `readFailed`.
        case read(RecordQuery)
        /// These may go. Not answered.
        case remove(StreamID, SeqSet)
        /// Keep this value with what is written next; `nil` removes it. Not answered.
        case keep(String, [UInt8]?)
        /// Set it aside; answered by `setAside` or `setAsideFailed`.
        case quarantine(StreamID, UInt64, TrackingError)
        /// Record these anew, from this name on, and let go of them under their old one; answered by `appended` and `appendFailed`.
        case renumber(StreamID, SeqSet, from: RecordName)
        /// Put these back in line; answered by `putBack` or `putBackFailed`.
        case putBack(StreamID, [PutBackRecord], request: UInt64)
        /// Nothing of this stream is left to be told. Not answered.
        case forget(StreamID)
    }

    /// What is to be done about it.
    public enum Action: Hashable, Sendable {
        /// Give these to the connection, in order.
        case send([TransportCommand])
        /// Ask this of the source.
        case useSensorResolution(Resolution)
        /// Tell the caller: a trackable's state, with the reason where there is one.
        case stateChanged(TrackableID, PublisherState, TrackingError?)
        /// Ask this of the log.
        case log(TrackableID, LogAction)
        /// Tell the caller: something happened to a trackable, and was given its number in the log.
        case told(TrackableID, TrackingEvent)
        /// Tell the caller: a trip began, went on or ended.
        case tripChanged(TrackableID, Trip)
        /// Tell the caller what came of a request.
        case answered(request: UInt64, Result<Answer, TrackingError>)
        /// Tell the caller how far a request has come.
        case progressed(request: UInt64, done: Int, total: Int)
        /// Carry out this command, and tell `answer`.
        case commanded(ReceivedCommand)
        /// Tell the operator: no commands come for this trackable, because the broker refuses them.
        case commandsRefused(TrackableID, TrackingError)
        /// Keep the log within these limits from now on.
        case limitsChanged(SpoolLimits)
        /// Tell the operator: records could not be written to the log.
        case logFailed(TrackableID, TrackingError)
        /// Tell the operator: the log was put back to an earlier state, and this stream of it ends.
        case numbersReused(TrackableID, StreamID)
        /// Tell the operator: the broker does not take batches, and why.
        case recordsRefused(TrackableID, TrackingError)
        /// Tell the caller: a fix was captured, and what became of it.
        case captured(TrackableID, Location, LocationFilter.Verdict)
        /// Tell the caller: a trackable's resolution.
        case resolutionChanged(TrackableID, ResolutionInForce)
        /// Tell the operator: a message that cannot be read was skipped.
        case badMessage(topic: String, TrackingError)
        /// Tell the operator: the connection came, went or could not be made.
        case connectionChanged(Disconnection?)
        /// Tell the caller: this trackable was taken leave of.
        case removed(TrackableID)
        /// Tell the caller: leave is taken with positions of this trackable unsent, because the broker refuses them.
        case givenUp(TrackableID, TrackingError)
    }

    enum Purpose: Hashable, Sendable {
        /// What was subscribed to at once: three filters a trackable, in this order.
        case all([TrackableID])
        /// Answered once what stands on all of it was read.
        case settle([TrackableID])
        case adding(TrackableID)
        /// Answered once what stands on the filters of this trackable was read.
        case entering(TrackableID)
        case update(TrackableID)
        case raw(TrackableID)
        case history(TrackableID)
        case presence(TrackableID)
        case resolution(TrackableID)
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
        /// Nothing came of a trackable that is fed from outside.
        case lease(TrackableID)
        /// Nobody waits any longer for what was brought under this number.
        case intake(TrackableID, UInt64)
        /// Nobody waits any longer for the fix that was asked for.
        case report
        case leave
    }

    var configuration: PublisherConfiguration
    let policy: any ResolutionPolicy
    var random: SplitMix64
    var session: SessionStateMachine
    var presence = PresenceStateMachine()
    /// Requests of those not present yet, and of those present.
    var requests: [TrackableID: [ClientID: [SessionID: Resolution]]] = [:]
    /// Where there is no room for more requests: nobody is looked through again until somebody leaves.
    var crowded: Set<TrackableID> = []
    /// Where something of its own may stand that is to go, with the number of the message that clears it; 0 before one was sent.
    /// What the broker has not taken when a connection is lost is sent again on the next.
    var unclear: [Topic: TransportToken] = [:]
    /// What the broker refuses, and trackables go on without.
    var lesserRefusals: [TrackableID: LesserRefusals] = [:]
    var assets = AssetTable()
    /// What was brought from outside and not answered yet.
    var intakes: [TrackableID: IntakeQueue] = [:]
    /// What ``progress(at:)`` depended on when it was last done for every trackable.
    var conditions: Conditions?
    /// What the log holds of trackables that are not carried.
    var logs: [TrackableID: SpoolContents.Trackable]
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
    public private(set) var ages = AgeTrust()
    var battery: Double?
    var sensor: Resolution?
    /// Events that wait for a connection, oldest first.
    var unsentEvents: [TrackingEvent] = []
    /// The trackables of ``unsentEvents``, in the same order.
    var unsentOwners: [TrackableID] = []
    /// How many of the first of ``unsentEvents`` were asked for, where nothing goes by itself.
    var eventsAskedFor = 0
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

    /// The most events that wait for a connection.
    static let maximumUnsentEvents = 100
    /// The most requests remembered of clients that are not present, a trackable.
    static let maximumRequests = 20_000

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
        case .fix(let fix, let raw):
            self.ages.moved(fix, wall: device.wall)
            actions += self.captured(fix, raw: raw, at: moment)
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
