import Testing
import TrackingCore

@testable import TrackingPublisher

/// The state machine of a publisher with the client id `d1` and the session `mine`, which tracks `van`, with
/// functions for tests. The machine's actions are returned as text. Its messages are acknowledged only when the test
/// says so.
struct PublisherConversation {
    var machine: PublisherStateMachine
    /// Both clocks: the wall clock is this many seconds after 1000.
    var now = MonotonicTime(.zero)
    /// The number of seconds by which the wall clock was set since the start.
    var clockStep = Duration.zero
    private var subscriptions: [(token: TransportToken, filters: [String])] = []
    private var publishes: [(token: TransportToken, message: OutgoingMessage)] = []
    /// The records in the log. Every operation on it completes at once.
    private(set) var log: [StreamID: [UInt64: SpoolRecord]] = [:]
    /// The marks of the records in the log.
    private var marks: [RecordMark: RecordName] = [:]
    /// The publisher's own values in the log.
    private(set) var kept: [String: [UInt8]] = [:]
    /// The operations on the log that were requested and not performed yet.
    private var jobs: [(TrackableID, PublisherStateMachine.LogAction)] = []
    /// `true` while the disk is full.
    var isDiskFull = false
    /// `true` while the disk is busy: operations on the log wait for ``written()``.
    var isDiskBusy = false
    /// `true` to keep every record in the log, for inspection.
    var isRemovalIgnored = false
    /// The last payload published on each topic.
    private(set) var said: [String: [UInt8]] = [:]

    init(
        _ trackables: [Trackable] = [], logs: [TrackableID: SpoolContents.Trackable] = [:],
        kept: [String: [UInt8]] = [:], configure: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = PublisherConfiguration(
            client: try ClientID("d1"), session: try #require(SessionID("mine")))
        configuration.defaultResolution = try Resolution(
            accuracy: .balanced, desiredInterval: .seconds(10), minimumDisplacement: 0)
        configure(&configuration)
        self.machine = PublisherStateMachine(
            configuration: configuration, policy: DefaultResolutionPolicy(), logs: logs, kept: kept,
            seed: 1)
        for trackable in trackables { _ = self.happened(.add(trackable)) }
    }

    static func van(_ change: (inout Trackable) throws -> Void = { _ in }) throws -> Trackable {
        var trackable = Trackable(try TrackableID("van"))
        try change(&trackable)
        return trackable
    }

    /// A publisher of `van` that is ONLINE at second 0 and was at second -2, with one update acknowledged. The pause
    /// after its last resolution is over: the next change is published at once.
    static func online(
        _ trackable: Trackable? = nil, configure: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        var talk = try PublisherConversation(configure: configure)
        talk.now = MonotonicTime(.seconds(-2))
        talk.clockStep = .seconds(2)
        _ = talk.happened(.add(try trackable ?? Self.van()))
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()
        _ = talk.wait(.seconds(2)) + talk.acked()
        #expect(talk.machine.readiness.isReadyForFix)
        return talk
    }

    mutating func happened(_ event: PublisherStateMachine.Event) -> [String] {
        let moment = Moment(now: self.now, wall: UnixTime(1000).advanced(by: self.now.sinceOrigin + self.clockStep))
        var answers = self.machine.happened(event, at: moment).flatMap { self.text($0) }
        if !self.isDiskBusy { answers += self.written() }
        return answers
    }

    /// Performs the requested operations on the log, or the given number of the first ones.
    mutating func written(_ count: Int = .max) -> [String] {
        var answers: [String] = []
        var left = count
        while !self.jobs.isEmpty, left > 0 {
            left -= 1
            let (id, action) = self.jobs.removeFirst()
            guard var event = self.work(action) else { continue }
            // As in the worker, appends that arrive together are written together.
            while case .appended(let stream, var seqs) = event,
                case (id, .append(stream, let record, .some))? = self.jobs.first
            {
                _ = self.work(self.jobs.removeFirst().1)
                seqs.insert(record.seq)
                event = .appended(stream, seqs)
            }
            answers += self.happened(.log(id, event))
        }
        return answers
    }

    private mutating func work(_ action: PublisherStateMachine.LogAction) -> PublisherStateMachine.LogEvent? {
        switch action {
        case .find(let marks):
            return .found(self.marks.filter { marks.contains($0.key) })
        case .append(let stream, let record, let mark):
            let seqs = SeqSet([record.seq...record.seq])
            guard !self.isDiskFull else {
                return .appendFailed(stream, seqs, TrackingError(.spoolFailed, "the disk is full"))
            }
            self.log[stream, default: [:]][record.seq] = record
            if let mark { self.marks[mark] = RecordName(stream: stream, seq: record.seq) }
            return .appended(stream, seqs)
        case .read(let query):
            let records = query.seqs.ranges.joined().compactMap { self.log[query.stream]?[$0] }
            var missing = query.seqs
            for record in records { missing.remove(record.seq...record.seq) }
            return .loaded(SpoolRecords(records), missing: missing, query: query.number)
        case .remove(let stream, let seqs):
            guard !self.isRemovalIgnored else { return nil }
            for seq in seqs.ranges.joined() { self.log[stream]?[seq] = nil }
        case .quarantine(let stream, let seq, _):
            self.log[stream]?[seq] = nil
            return .setAside(stream, seq)
        case .renumber(let stream, let seqs, let first):
            for (place, seq) in seqs.ranges.joined().enumerated() {
                let name = RecordName(stream: first.stream, seq: first.seq + UInt64(place))
                self.log[name.stream, default: [:]][name.seq] = self.log[stream]?.removeValue(forKey: seq)?.renamed(
                    name)
            }
            return .appended(first.stream, SeqSet([first.seq...(first.seq + UInt64(seqs.count) - 1)]))
        case .putBack(let stream, let records, let request):
            let seqs = SeqSet(records.map { $0.record.seq...$0.record.seq })
            guard !self.isDiskFull else {
                return .putBackFailed(stream, seqs, TrackingError(.spoolFailed, "the disk is full"), request: request)
            }
            for record in records { self.log[stream, default: [:]][record.record.seq] = record.record }
            return .putBack(stream, seqs, request: request)
        case .forget(let stream): if self.log[stream]?.isEmpty == true { self.log[stream] = nil }
        case .keep(let name, let value): self.kept[name] = value
        }
        return nil
    }

    /// Requests that quarantined records are put back: an event of second 1000 under each of these numbers.
    mutating func putBack(_ seqs: UInt64..., in stream: StreamID) throws -> [String] {
        let van = try TrackableID("van")
        let rows = seqs.map { seq in
            let event = TrackingEvent(id: "e\(seq)", stream: stream, seq: seq, time: UnixTime(1000), kind: .paused)
            let record = SpoolRecord(seq: seq, time: event.time, kind: .event, payload: MessageCodec.encode(event))
            return QuarantinedRecord(
                place: Int64(seq), entry: SpoolEntry(record, of: van, in: stream), reason: "too large")
        }
        return self.happened(.asked(.putBack(rows, of: van), request: 9))
    }

    mutating func connect(_ connection: Int) -> [String] {
        (self.subscriptions, self.publishes) = ([], [])
        return self.happened(.transport(.connected(connection: connection, sessionPresent: false)))
    }

    mutating func lose() -> [String] {
        (self.subscriptions, self.publishes) = ([], [])
        let reason = TrackingError(.connectionLost, "cut")
        return self.happened(.transport(.disconnected(Disconnection(reason: reason, retry: .zero, lasted: .zero))))
    }

    /// The broker rejects the connection, which is tried again in `retry`.
    mutating func turnedAway(retry: Duration = .seconds(1)) -> [String] {
        let reason = TrackingError(.badCredentials, "no", reasonCode: 0x86)
        return self.happened(.transport(.disconnected(Disconnection(reason: reason, retry: retry, lasted: nil))))
    }

    /// The broker grants what was subscribed to so far and what is subscribed to thereupon, or refuses all of it or
    /// one filter.
    mutating func granted(refusing refusal: TrackingError? = nil, only filter: String? = nil) -> [String] {
        var answers: [String] = []
        while !self.subscriptions.isEmpty {
            let next = self.subscriptions.removeFirst()
            let refusals = next.filters.map { filter == nil || $0 == filter ? refusal : nil }
            answers += self.happened(.transport(.subscribed(next.token, refusals: refusals)))
        }
        return answers
    }

    /// The broker grants what was subscribed to so far, and not yet what is subscribed to thereupon.
    mutating func settled() -> [String] {
        let subscriptions = self.subscriptions
        self.subscriptions = []
        return subscriptions.flatMap { token, filters in
            self.happened(.transport(.subscribed(token, refusals: filters.map { _ in nil })))
        }
    }

    /// The broker acknowledges the messages published so far, except those that it rejects.
    mutating func acked(refusing topics: Set<String> = []) -> [String] {
        let publishes = self.publishes
        self.publishes = []
        return publishes.flatMap { token, message in
            let refusal = topics.contains(message.topic) ? TrackingError(.notAuthorized, "forbidden") : nil
            return self.happened(.transport(.published(token, refusal: refusal)))
        }
    }

    /// The broker acknowledges the first unanswered message on a topic.
    mutating func ackedFirst(_ topic: String) -> [String] {
        guard let place = self.publishes.firstIndex(where: { $0.message.topic == topic }) else { return [] }
        let token = self.publishes.remove(at: place).token
        return self.happened(.transport(.published(token, refusal: nil)))
    }

    /// The broker rejects the last message on a topic as too large.
    mutating func tooLarge(
        _ topic: String, _ error: TrackingError = TrackingError(.payloadTooLarge, "large")
    ) -> [String] {
        guard let place = self.publishes.lastIndex(where: { $0.message.topic == topic }) else { return [] }
        let token = self.publishes.remove(at: place).token
        return self.happened(.transport(.published(token, refusal: error)))
    }

    /// The publisher receives its own liveness and presence.
    mutating func echoed() -> [String] {
        ["tracking/_clients/d1", "tracking/van/publisher/d1"].flatMap { topic in
            self.said[topic].map { self.receive(topic, $0) } ?? []
        }
    }

    mutating func receive(_ topic: String, _ payload: [UInt8], retained: Bool = false) -> [String] {
        self.happened(
            .transport(.received(IncomingMessage(topic: topic, payload: payload[...], isRetained: retained))))
    }

    mutating func receive(_ topic: String, _ text: String, retained: Bool = false) -> [String] {
        self.receive(topic, Array(text.utf8), retained: retained)
    }

    /// A subscriber's presence, live.
    mutating func subscriber(_ client: String, _ session: String = "s", connection: Int = 0) -> [String] {
        self.receive(
            "tracking/van/subscriber/\(client)",
            #"{"type":"SUBSCRIBER","session":"\#(session)","connection":\#(connection),"lease":90,"since":1}"#)
    }

    /// A publisher's presence.
    mutating func publisher(_ client: String, _ session: String, since: Double, retained: Bool = false) -> [String] {
        self.receive(
            "tracking/van/publisher/\(client)",
            #"{"type":"PUBLISHER","session":"\#(session)","connection":0,"lease":90,"since":\#(since)}"#,
            retained: retained)
    }

    mutating func request(_ client: String, _ session: String = "s", interval: Int) -> [String] {
        self.receive(
            "tracking/van/request/\(client)",
            #"{"session":"\#(session)","resolution":"#
                + #"{"accuracy":"HIGH","desiredInterval":\#(interval),"minimumDisplacement":0}}"#)
    }

    /// A fix of second `1000 + at`, `metres` north of the first.
    mutating func fix(at second: Double, metres: Double = 0) throws -> [String] {
        let coordinate = try #require(Coordinate(latitude: metres / 111_195, longitude: 1))
        let fix = Location(coordinate: coordinate, time: UnixTime(1000 + second))
        return self.happened(.fix(fix, raw: fix))
    }

    mutating func wait(_ duration: Duration) -> [String] {
        let end = self.now.advanced(by: duration)
        var answers: [String] = []
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            answers += self.happened(.timer)
        }
        self.now = end
        return answers
    }

    // MARK: - As text

    private mutating func text(_ action: PublisherStateMachine.Action) -> [String] {
        switch action {
        case .log(let id, let action):
            self.jobs.append((id, action))
            return []
        case .eventRecorded: return []
        case .tripChanged(let id, let trip): return ["trip \(id) \(trip.state.rawValue) \(Int(trip.distance)) m"]
        case .answered(_, .success(let answer)): return ["answer \(Self.text(answer))"]
        case .answered(_, .failure(let error)): return ["answer \(error.code)"]
        case .progressed(_, let done, let total): return ["\(done) of \(total)"]
        case .numbersReused(let id, _): return ["numbers of \(id) are used again"]
        case .recordsRefused(let id, let error): return ["\(id) records refused (\(error.code))"]
        case .commanded(let received):
            return [
                "\(received.command.name.rawValue) on \(received.trackable), answer to \(received.responseTopic ?? "-")"
            ]
        case .commandsRefused(let id, let error): return ["no commands of \(id) (\(error.code))"]
        case .journeyRefused(let id, let error): return ["no journey of \(id) (\(error.code))"]
        case .limitsChanged(let limits): return ["limits \(limits.maximumCount ?? 0)"]
        case .logFailed(let id, let error): return ["\(id) not logged (\(error.code))"]
        case .send(let commands): return commands.map { self.text($0) }
        case .useSensorResolution(let resolution): return ["sensor \(Self.text(resolution))"]
        case .stateChanged(let id, let state, let reason):
            return ["\(id) is \(state.rawValue)" + (reason.map { " (\($0.code))" } ?? "")]
        case .fixRefused(let error): return ["fix refused (\(error.code))"]
        case .extraLeftOut(let error): return ["extra left out (\(error.code))"]
        case .captured(_, let fix, let verdict): return ["fix \(fix.seq ?? 0) \(verdict)"]
        case .resolutionChanged(let id, let inForce): return ["tell \(id) \(Self.text(inForce))"]
        case .badMessage(let topic, _): return ["bad message on \(topic)"]
        case .connectionChanged(let disconnection): return [disconnection == nil ? "connected" : "not connected"]
        case .removed(let id): return ["removed \(id)"]
        case .givenUp(let id, let error): return ["given up \(id) (\(error.code))"]
        }
    }

    private static func text(_ answer: PublisherStateMachine.Answer) -> String {
        switch answer {
        case .trip(let trip): trip.state.rawValue
        case .records(let count): "\(count) records"
        case .taken(let names): "taken \(names.map { "\($0.seq)" }.joined(separator: ","))"
        case .bound: "bound"
        case .reported: "reported"
        case .snapshot(let snapshot): "snapshot \(snapshot.trackables.map { "\($0.id) \($0.state.rawValue)" })"
        case .sending(let figures): "refusals \(figures.refusals.map { "\($0) \($1.code)" })"
        }
    }

    private mutating func text(_ command: TransportCommand) -> String {
        switch command {
        case .subscribe(let filters, let token):
            self.subscriptions.append((token, filters))
            return "subscribe \(filters.map { Self.short($0) }.joined(separator: " "))"
        case .unsubscribe(let filters): return "unsubscribe \(filters.map { Self.short($0) }.joined(separator: " "))"
        case .tryNow: return "try now"
        case .acknowledge(let count, _): return "acknowledge \(count)"
        case .close: return "close"
        case .publish(let message, let token):
            self.publishes.append((token, message))
            self.said[message.topic] = message.payload
            return "\(Self.short(message.topic)): \(Self.text(message))"
        }
    }

    static func short(_ topic: String) -> String {
        topic.hasPrefix("tracking/") ? String(topic.dropFirst(9)) : topic
    }

    static func text(_ message: OutgoingMessage) -> String {
        guard !message.payload.isEmpty else { return "cleared" }
        let payload = message.payload[...]
        if message.topic.hasSuffix("/trip"), let trip = try? MessageCodec.decodeTrip(payload) {
            return "\(trip.state.rawValue) \(trip.mode) record \(trip.seq)"
        }
        if message.topic.hasSuffix("/history"), let batch = try? HistoryCodec.decode(payload).batch {
            let records = batch.records.map { "\($0.seq)" }.joined(separator: ",")
            return "batch [\(records)] oldest \(batch.oldest) remaining \(batch.remaining)"
        }
        if message.topic.hasSuffix("/journey"), let journey = try? MessageCodec.decodeJourney(payload) {
            return "journey to \(journey.stops.map(\.id).joined(separator: " "))"
        }
        if message.topic.hasSuffix("/event") { return Self.kind(payload) }
        if let liveness = try? MessageCodec.decodeLiveness(payload) {
            let status = liveness.status == .offline ? "offline" : "online"
            return "\(status) \(liveness.session)/\(liveness.connection)"
        }
        if let presence = try? MessageCodec.decodePresence(payload) {
            return "present \(presence.session)/\(presence.connection) since \(presence.since.seconds)"
        }
        if let inForce = try? MessageCodec.decodeResolution(payload) { return Self.text(inForce) }
        if let update = try? LocationCodec.decode(payload) {
            let skipped = update.skipped.compactMap(\.seq).map { "\($0)" }.joined(separator: ",")
            return "update \(update.location.seq ?? 0)" + (skipped.isEmpty ? "" : " skipped \(skipped)")
        }
        return String(decoding: payload, as: UTF8.self)
    }

    private static func kind(_ payload: ArraySlice<UInt8>) -> String {
        (try? MessageCodec.decodeEvent(payload))?.kind.rawValue ?? "?"
    }

    static func text(_ inForce: ResolutionInForce) -> String {
        "\(Self.text(inForce.resolution)) \(inForce.state.rawValue) subscribers \(inForce.subscribers)"
            + (inForce.isNear ? " near" : "") + (inForce.isLowBattery ? " low battery" : "")
    }

    private static func text(_ resolution: Resolution) -> String {
        "\(resolution.accuracy.rawValue)/\(resolution.desiredInterval.inMilliseconds)"
            + "/\(Int(resolution.minimumDisplacement.value))"
    }
}
