import Testing
import TrackingCore

@testable import TrackingPublisher

/// The machine of the trackable `van`, and the words in which a scenario file speaks to it. Its outputs come back as text. The log
/// does what it is asked when the scenario says `written`; the broker answers when the scenario says so.
struct TrackableConversation {
    private var machine: TrackableStateMachine?
    private var dormant: DormantTrackable
    private var session: SessionStateMachine
    private var configuration: PublisherConfiguration
    private let van: TrackableID
    private var now = MonotonicTime(.zero)
    private var isHolding = false
    /// The outputs of the log that were not carried out yet.
    private var jobs: [PublisherStateMachine.LogAction] = []
    private var log: [StreamID: [UInt64: SpoolRecord]] = [:]
    private var marks: [RecordMark: RecordName] = [:]
    private var others: [Member] = []

    init() throws {
        self.van = try TrackableID("van")
        self.dormant = DormantTrackable(random: SplitMix64(seed: 2))
        let session = try #require(SessionID("mine"))
        self.configuration = PublisherConfiguration(client: try ClientID("d1"), session: session)
        self.configuration.defaultResolution = try Resolution(
            accuracy: .balanced, desiredInterval: .seconds(10), minimumDisplacement: 0)
        self.session = SessionStateMachine(
            client: self.configuration.client, session: self.configuration.session, lease: .seconds(90))
    }

    private var context: TrackableContext {
        TrackableContext(
            moment: Moment(now: self.now, wall: UnixTime(1000).advanced(by: self.now.sinceOrigin)),
            session: self.session, connectionRejection: nil, isHolding: self.isHolding, isFixRequested: false,
            unsentEvents: self.machine?.unsent.count ?? 0, batchesAhead: 1,
            configurationBox: Boxed(wrappedValue: self.configuration), captureBox: Boxed(wrappedValue: nil))
    }

    private var publishers: OtherPublishers {
        OtherPublishers(
            presences: self.others.map(\.presence),
            owner: self.others.max {
                ($0.presence.since, $0.presence.session) < ($1.presence.since, $1.presence.session)
            })
    }

    // MARK: - Events

    /// Lets one line of a scenario happen:
    /// `track`, `stop-tracking`, `connect 0`, `lose`, `enter`, `presence`, `alive`, `advance`, `fix 20 [300 m]`, `battery 19`,
    /// `written`, `disk-full`, `acked update|history|resolution|presence`, `refused update`, `too-large history`,
    /// `other d2 since 1001`, `others-left`, `ack 3 keeper`, `ingest 10 20`, `lease 60`, `retry`, `wait 2`, `recorder keeper`,
    /// `batches-only`, `on-collision clear`, `trip car|ended`, `deadline`.
    mutating func happen(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "recorder": self.configuration.recording.recorders = [try ClientID(words[1])]
        case "batches-only": self.configuration.sendsLive = false
        case "on-collision": self.configuration.onCollision = try #require(CollisionRule(rawValue: words[1]))
        case "others-left": self.others = []
        case "track": return try self.track()
        case "stop-tracking": return self.stopTracking()
        case "connect":
            let connection = try #require(Int(words[1]))
            self.session.connected(connection: connection, broker: 0)
            _ = self.session.settled(now: self.now)
            return self.decide { $0.connected($1) }
        case "lose":
            self.session.disconnected()
            let reason = TrackingError(.connectionLost, "cut")
            return self.decide { $0.connectionLost($1) + $0.reportState(reason: reason, $1) }
        case "alive":
            _ = self.session.receivedOwn(self.session.birth)
            return self.decide { $0.reportState(reason: nil, $1) }
        case "written", "disk-full": return self.written(isFull: words[0] == "disk-full")
        case "wait":
            let seconds = try #require(Double(words[1]))
            return self.wait(.seconds(seconds))
        case "deadline":
            let deadline = self.machine?.nextDeadline(self.context)
            return [deadline.map { "in \(self.now.duration(to: $0).inSeconds) s" } ?? "never"]
        case "dormant": return self.dormantHappened(words)
        default: return try self.broker(words)
        }
        return []
    }

    private mutating func broker(_ words: [String]) throws -> [String] {
        let others = self.publishers
        switch words[0] {
        case "enter": return self.decide { $0.enter(others, $1) }
        case "presence": return self.decide { $0.presenceReceived($1) }
        case "retry": return self.decide { $0.retry($1) }
        case "acked", "refused", "too-large", "forbidden-name":
            let publication = Self.publication(words[1])
            let refusal = Self.refusal(words[0])
            return self.decide { $0.answered(publication, refusal, $1) }
        case "other":
            let since = try #require(Double(words[3]))
            let presence = Presence(
                kind: .publisher, session: try #require(SessionID("other")), connection: 0, lease: .seconds(90),
                since: UnixTime(since))
            let member = Member(trackable: self.van, client: try ClientID(words[1]), presence: presence)
            self.others.append(member)
            return self.decide { $0.compareOwner(member, $1) }
        case "ack":
            let (recorder, seq) = (try ClientID(words[2]), try #require(UInt64(words[1])))
            let stream = try #require(self.machine?.backlog.stream)
            return self.decide {
                $0.acknowledged(Acknowledgement(streams: [stream: seq]), by: recorder, isRetained: false, $1)
            }
        default: return try self.source(words)
        }
    }

    private mutating func source(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "fix":
            let fix = try self.location(at: words[1], metres: words.count > 2 ? words[2] : "0")
            return self.decide { $0.captured(fix, shown: fix, raw: nil, $1) }
        case "battery":
            let percent = try #require(Double(words[1]))
            return self.decide { $0.batteryRead(percent, $1) }
        case "trip":
            let mode: TripMode? = words[1] == "ended" ? nil : try TripMode(words[1])
            return self.decide { $0.trip(mode, 1, $1) }
        case "lease":
            let seconds = try #require(Double(words[1]))
            let end = self.now.advanced(by: .seconds(seconds))
            return self.decide { trackable, _ in
                _ = trackable.extendLease(to: end)
                return []
            }
        case "ingest":
            let drafts = try words.dropFirst().map { second in
                let digest = Array(second.utf8) + Array(repeating: 0, count: RecordDigest.size - second.utf8.count)
                return RecordDraft(
                    .point(try self.location(at: second, metres: "0")), digest: try #require(RecordDigest(digest)))
            }
            let deadline = self.now.advanced(by: .seconds(20))
            return self.decide { trackable, _ in trackable.ingest(.init(request: 7, drafts: drafts), by: deadline) }
        case "send-records": return self.decide { $0.sendRecords(all: true, $1) }
        default:
            Issue.record("'\(words[0])' is nothing that happens to a trackable")
            return []
        }
    }

    private func location(at second: String, metres: String) throws -> Location {
        let (north, time) = (try #require(Double(metres)), try #require(Double(second)))
        let coordinate = try #require(Coordinate(latitude: north / 111_195, longitude: 1))
        return Location(coordinate: coordinate, time: UnixTime(1000 + time))
    }

    private static func publication(_ word: String) -> TrackableStateMachine.Publication {
        switch word {
        case "update": .update
        case "history": .history
        case "resolution": .resolution
        case "presence": .presence
        default: .other
        }
    }

    private static func refusal(_ word: String) -> TrackingError? {
        switch word {
        case "refused": TrackingError(.notAuthorized, "forbidden")
        case "too-large": TrackingError(.payloadTooLarge, "large")
        case "forbidden-name": TrackingError(.refused, "bad topic", reasonCode: 0x90)
        default: nil
        }
    }

    // MARK: - Tracking

    private mutating func track() throws -> [String] {
        let machine = TrackableStateMachine(
            Trackable(self.van), resuming: self.dormant, policy: DefaultResolutionPolicy(), battery: nil, seed: 1,
            self.context)
        let departure = self.dormant.departure
        self.machine = machine
        return self.decide { $0.resume(departure, $1) + $0.publishResolution($1) }
    }

    private mutating func stopTracking() -> [String] {
        let context = self.context
        guard let end = self.machine?.endTrip(context) else { return [] }
        var texts = end.outputs.compactMap { self.text($0) }
        texts += (self.machine?.endIntake() ?? []).compactMap { self.text($0) }
        if let dormant = self.machine?.dormant(end.departure, at: context.moment) { self.dormant = dormant }
        self.machine = nil
        return texts + ["dormant with \(self.dormant.count) records\(end.departure == nil ? "" : ", on a trip")"]
    }

    private mutating func dormantHappened(_ words: [String]) -> [String] {
        let (van, configuration) = (self.van, self.configuration)
        let outputs =
            switch words[1] {
            case "publish": self.dormant.publishDeparture(of: van, configuration)
            case "acked": self.dormant.endDeparture(of: van)
            case "purge": self.dormant.clearRecords()
            default: [TrackableStateMachine.Output]()
            }
        return outputs.compactMap { self.text($0) }
    }

    /// Lets the machine decide, and then publishes whatever is due, as its publisher does.
    private mutating func decide(
        _ event: (inout TrackableStateMachine, TrackableContext) -> [TrackableStateMachine.Output]
    ) -> [String] {
        let context = self.context
        guard self.machine != nil else { return [] }
        let outputs = event(&self.machine!, context) + self.machine!.advance(context)
        let later = self.context
        return (outputs + self.machine!.publishEvents(later)).compactMap { self.text($0) }
    }

    private mutating func wait(_ duration: Duration) -> [String] {
        let end = self.now.advanced(by: duration)
        var texts: [String] = []
        while let deadline = self.machine?.nextDeadline(self.context), deadline <= end {
            self.now = max(self.now, deadline)
            texts += self.decide { $0.timerFired($1) }
        }
        self.now = end
        return texts
    }

    // MARK: - Log

    private mutating func written(isFull: Bool) -> [String] {
        var texts: [String] = []
        while !self.jobs.isEmpty {
            guard let event = self.work(self.jobs.removeFirst(), isFull: isFull) else { continue }
            if self.machine == nil {
                texts += self.dormant.happened(event).compactMap { self.text($0) }
            } else {
                texts += self.decide { $0.happened(event, $1) }
            }
        }
        return texts
    }

    private mutating func work(
        _ action: PublisherStateMachine.LogAction, isFull: Bool
    ) -> PublisherStateMachine.LogEvent? {
        switch action {
        case .append(let stream, let record, let mark):
            let seqs = SeqSet([record.seq...record.seq])
            guard !isFull else { return .appendFailed(stream, seqs, TrackingError(.spoolFailed, "the disk is full")) }
            self.log[stream, default: [:]][record.seq] = record
            if let mark { self.marks[mark] = RecordName(stream: stream, seq: record.seq) }
            return .appended(stream, seqs)
        case .find(let marks):
            return .found(self.marks.filter { marks.contains($0.key) })
        case .read(let query):
            let records = query.seqs.ranges.joined().compactMap { self.log[query.stream]?[$0] }
            return .loaded(SpoolRecords(records), missing: SeqSet(), query: query.number)
        case .remove(let stream, let seqs):
            for seq in seqs.ranges.joined() { self.log[stream]?[seq] = nil }
        case .quarantine(let stream, let seq, _):
            self.log[stream]?[seq] = nil
            return .setAside(stream, seq)
        case .keep, .forget, .renumber, .putBack: break
        }
        return nil
    }

    // MARK: - As text

    private mutating func text(_ output: TrackableStateMachine.Output) -> String? {
        switch output {
        case .publish(let topic, let payload, _):
            let path = TopicRoot.standard.path(topic)
            let message = OutgoingMessage(topic: path, payload: payload, isRetained: topic.isRetained)
            return "publish \(PublisherConversation.short(path)): \(PublisherConversation.text(message))"
        case .clear(let topic): return "clear \(PublisherConversation.short(TopicRoot.standard.path(topic)))"
        case .withdraw: return "withdraw"
        case .announceSoon: return "announce soon"
        case .cancelAnnouncement: return "cancel announcement"
        case .subscribe: return "subscribe"
        case .subscribeToCommands: return "subscribe to commands"
        case .subscribeToJourney: return "subscribe to journey"
        case .unsubscribeFromJourney: return "unsubscribe from journey"
        case .ignoreAnswers(let publication): return "ignore answers to \(publication)"
        case .log(let action):
            self.jobs.append(action)
            return Self.text(action)
        case .action(let action): return Self.text(action)
        case .updateSensorResolution: return nil
        case .release: return "release"
        case .acknowledged(let batch): return batch.map { "acknowledged batch of \($0)" } ?? "acknowledged"
        case .safe(_, let seqs): return "safe \(Self.text(seqs))"
        case .leaseEnded: return "lease ended"
        }
    }

    private static func text(_ action: PublisherStateMachine.LogAction) -> String? {
        switch action {
        case .append(_, let record, _): "log: append \(record.kind) \(record.seq)"
        case .find(let marks): "log: find \(marks.count)"
        case .read(let query): "log: read \(Self.text(query.seqs))"
        case .remove(_, let seqs): "log: remove \(Self.text(seqs))"
        case .keep(let key, let value): "log: keep \(key)" + (value == nil ? " no more" : "")
        case .quarantine(_, let seq, let error): "log: quarantine \(seq) (\(error.code))"
        case .renumber(_, let seqs, _): "log: renumber \(Self.text(seqs))"
        case .putBack(_, let records, _): "log: put back \(records.count)"
        case .forget: "log: forget stream"
        }
    }

    private static func text(_ action: PublisherStateMachine.Action) -> String? {
        switch action {
        case .stateChanged(_, let state, let reason): state.rawValue + (reason.map { " (\($0.code))" } ?? "")
        case .resolutionChanged(_, let inForce): "resolution \(PublisherConversation.text(inForce))"
        case .captured(_, let fix, let verdict): "captured \(fix.seq ?? 0) \(verdict)"
        case .eventRecorded(_, let event): "event \(event.kind.rawValue) \(event.seq)"
        case .tripChanged(_, let trip): "trip \(trip.state.rawValue)"
        case .answered(_, .success(.taken(let names))): "answer \(names.map { "\($0.seq)" }.joined(separator: ","))"
        case .answered(_, .success): "answer"
        case .answered(_, .failure(let error)): "answer \(error.code)"
        case .badMessage(let topic, let error): "unusable \(PublisherConversation.short(topic)) (\(error.code))"
        case .logFailed(_, let error): "not logged (\(error.code))"
        case .recordsRefused(_, let error): "records refused (\(error.code))"
        default: "\(action)"
        }
    }

    private static func text(_ seqs: SeqSet) -> String {
        seqs.ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }
}
