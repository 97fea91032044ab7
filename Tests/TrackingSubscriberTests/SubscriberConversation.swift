import Testing
import TrackingCore

@testable import TrackingSubscriber

/// A subscriber machine of client `w1`, session `mine`, with text commands for its tests. Its actions are returned as
/// text. Subscriptions are answered only by ``granted(refusing:refusingOnly:)``.
struct SubscriberConversation {
    var machine: SubscriberStateMachine
    /// Both clocks: the wall clock is this many seconds after 1000.
    var now = MonotonicTime(.zero)
    private var subscriptions: [(token: TransportToken, filters: [String])] = []
    private var publishes: [(token: TransportToken, topic: String)] = []

    init(configure: (inout SubscriberConfiguration) -> Void = { _ in }) throws {
        var configuration = SubscriberConfiguration(
            client: try ClientID("w1"), session: try #require(SessionID("mine")))
        configure(&configuration)
        self.machine = SubscriberStateMachine(configuration: configuration, seed: 1)
    }

    /// A subscriber of `van` whose publisher `d1`, stream `one`, has been present since 500 and publishes once a
    /// second.
    static func online() throws -> SubscriberConversation {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.resolution(interval: 1_000, silence: 60_000)
        #expect(talk.publisher("d1", "a", since: 500, stream: "one").contains("van is ONLINE"))
        _ = talk.granted()
        _ = talk.wait(.seconds(1))
        return talk
    }

    mutating func happened(_ event: SubscriberStateMachine.Event) -> [String] {
        let moment = Moment(now: self.now, wall: UnixTime(1000).advanced(by: self.now.sinceOrigin))
        return self.machine.happened(event, at: moment).flatMap { self.text($0) }
    }

    mutating func connect(_ connection: Int) -> [String] {
        (self.subscriptions, self.publishes) = ([], [])
        return self.happened(.transport(.connected(connection: connection, sessionPresent: false)))
    }

    mutating func lose() -> [String] {
        self.subscriptions = []
        let reason = TrackingError(.connectionLost, "cut")
        return self.happened(.transport(.disconnected(Disconnection(reason: reason, retry: .zero, lasted: .zero))))
    }

    /// Answers all pending subscriptions, and those of the next slices, which follow after a pause: grants them, refuses
    /// all of them, or refuses one filter.
    mutating func granted(refusing refusal: TrackingError? = nil, refusingOnly filter: String? = nil) -> [String] {
        let subscriptions = self.subscriptions
        self.subscriptions = []
        let answers = subscriptions.flatMap { token, filters in
            let refusals = filters.map { $0 == filter ? TrackingError(.notAuthorized, "no") : refusal }
            return self.happened(.transport(.subscribed(token, refusals: refusals)))
        }
        guard !self.machine.retained.slices.isAllSent, self.machine.retained.slices.deadline != nil else {
            return answers
        }
        return answers + self.wait(SubscriptionSlices<TopicFilter>.shortestPause)
            + self.granted(refusing: refusal, refusingOnly: filter)
    }

    /// Answers all pending publishes: accepts them apart from those on `topics`.
    mutating func acked(refusing topics: Set<String> = []) -> [String] {
        let publishes = self.publishes
        self.publishes = []
        return publishes.flatMap { token, topic in
            let refusal = topics.contains(topic) ? TrackingError(.notAuthorized, "forbidden") : nil
            return self.happened(.transport(.published(token, refusal: refusal)))
        }
    }

    mutating func receive(_ topic: String, _ text: String, retained: Bool = false) -> [String] {
        let message = IncomingMessage(
            topic: "tracking/\(topic)", payload: Array(text.utf8)[...], isRetained: retained)
        return self.happened(.transport(.received(message)))
    }

    mutating func publisher(
        _ client: String, _ session: String, connection: Int = 0, since: Double, stream: String,
        metadata: String? = nil, retained: Bool = false
    ) -> [String] {
        self.receive(
            "van/publisher/\(client)",
            #"{"type":"PUBLISHER","session":"\#(session)","connection":\#(connection),"lease":90,"#
                + #""since":\#(since),"stream":"\#(stream)""#
                + (metadata.map { #","metadata":"\#($0)"}"# } ?? "}"),
            retained: retained)
    }

    mutating func resolution(interval: Int, silence: Int, retained: Bool = false) -> [String] {
        self.receive(
            "van/resolution",
            #"{"resolution":{"accuracy":"HIGH","desiredInterval":\#(interval),"minimumDisplacement":0},"near":false,"#
                + #""subscribers":1,"lowBattery":false,"state":"ONLINE","filter":"both","maximumSilence":\#(silence)}"#,
            retained: retained)
    }

    mutating func update(
        _ seq: UInt64, of stream: String = "one", skipped: [UInt64] = [], retained: Bool = false,
        trackable: String = "van"
    ) throws -> [String] {
        func fix(_ seq: UInt64) throws -> Location {
            var fix = Location(
                coordinate: try #require(Coordinate(latitude: 0, longitude: 1)), time: UnixTime(Double(seq)))
            (fix.seq, fix.stream) = (seq, StreamID(stream))
            return fix
        }
        let update = LocationUpdate(location: try fix(seq), skipped: try skipped.map { try fix($0) })
        return self.receive(
            trackable, String(decoding: try LocationCodec.encode(update), as: UTF8.self), retained: retained)
    }

    /// The enhanced update of a fix, with a way of two points to it.
    mutating func enhanced(
        _ seq: UInt64, of stream: String = "one", retained: Bool = false, trackable: String = "van"
    ) throws -> [String] {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: 0, longitude: 1)), time: UnixTime(Double(seq)))
        (fix.seq, fix.stream) = (seq, StreamID(stream))
        let update = LocationUpdate(
            location: fix, intermediate: [fix, fix], enhancement: Enhancement(confidence: .matched, road: "Main"))
        return self.receive(
            "\(trackable)/enhanced", String(decoding: try LocationCodec.encode(update), as: UTF8.self),
            retained: retained)
    }

    mutating func trip(
        _ seq: Int, of stream: String = "one", _ state: String = "ACTIVE", retained: Bool = false
    ) -> [String] {
        let end = state == "ENDED" ? #","end":60"# : ""
        return self.receive(
            "van/trip",
            #"{"tripId":"t1","mode":"bicycle","state":"\#(state)","start":1\#(end),"distance":9,"duration":59,"#
                + #""stream":"\#(stream)","seq":\#(seq)}"#,
            retained: retained)
    }

    mutating func event(_ seq: Int, of stream: String = "one", _ kind: String = "LOW_BATTERY") -> [String] {
        self.receive(
            "van/event",
            #"{"id":"e\#(seq)","stream":"\#(stream)","seq":\#(seq),"time":5,"kind":"\#(kind)","detail":{}}"#)
    }

    /// A batch of events and of trip versions. A negative number stands for a trip that has not ended.
    mutating func batch(
        events: [Int] = [], trips: [Int] = [], of stream: String = "one", at time: Double = 5
    ) -> [String] {
        let events = events.map {
            #"{"id":"e\#($0)","stream":"\#(stream)","seq":\#($0),"time":\#(time),"kind":"LOW_BATTERY","detail":{}}"#
        }
        let trips = trips.map { seq in
            #"{"tripId":"t1","mode":"bicycle","state":"\#(seq < 0 ? "ACTIVE" : "ENDED")","start":1,"#
                + (seq < 0 ? "" : #""end":\#(time),"#)
                + #""distance":9,"duration":59,"stream":"\#(stream)","seq":\#(abs(seq))}"#
        }
        return self.receive(
            "van/history",
            #"{"batch":"b","stream":"\#(stream)","oldest":1,"points":[{"not":"read"}],"trips":["#
                + trips.joined(separator: ",") + #"],"events":["# + events.joined(separator: ",") + "]}")
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

    private mutating func text(_ action: SubscriberStateMachine.Action) -> [String] {
        switch action {
        case .send(let commands): return commands.map { self.text($0) }
        case .deliver(.location(let id, let update)): return ["\(id) at \(Self.text(update))"]
        case .deliver(.publishedLocation(let id, let update)): return ["\(id) published \(Self.text(update))"]
        case .deliver(.locationCleared(let id)): return ["\(id) location cleared"]
        case .deliver(.positionsKept(let ids)): return ["keeps \(ids.map(\.rawValue).sorted().joined(separator: " "))"]
        case .deliver(.raw(let id, let update)): return ["\(id) raw at \(Self.text(update))"]
        case .deliver(.state(let id, let state, let reason)):
            return ["\(id) is \(state.rawValue)" + (reason.map { " (\($0.code))" } ?? "")]
        case .deliver(.presence(let id, let presence)):
            return ["\(id) publisher \(presence.status.rawValue)" + (presence.metadata.map { " called \($0)" } ?? "")]
        case .deliver(.resolution(let id, let resolution)):
            return ["\(id) every \(resolution.map { "\($0.resolution.desiredInterval)" } ?? "?")"]
        case .deliver(.trip(let id, let trip)):
            return ["\(id) trip \(trip.map { "\($0.id) \($0.state.rawValue) #\($0.seq)" } ?? "cleared")"]
        case .deliver(.tripRecorded(let id, let trip)): return ["\(id) recorded trip \(trip.id) #\(trip.seq)"]
        case .deliver(.event(let id, let event)): return ["\(id) event \(event.kind.rawValue) #\(event.seq)"]
        case .deliver(.journey(let id, let journey)):
            return ["\(id) journey \(journey.map { $0.stops.map(\.id).joined(separator: ",") } ?? "cleared")"]
        case .deliver(.estimate(let id, let estimate)):
            return ["\(id) estimate \(estimate.map { "of \($0.time.seconds)" } ?? "cleared")"]
        case .deliver(.silent(let id)): return ["\(id) unheard"]
        case .deliver(.refused(let id, let error)): return ["refused \(id?.rawValue ?? "everything") (\(error.code))"]
        case .deliver(.enhancedRefused(let id, let error)):
            return ["no enhanced \(id?.rawValue ?? "everything") (\(error.code))"]
        case .deliver(.publishRefused(let topic, let error)): return ["may not write \(topic) (\(error.code))"]
        case .deliver(.badMessage(let topic, _)): return ["bad message on \(topic)"]
        case .publishers(_, let found): return found.map { Self.text($0) }
        case .published(let request, let failure):
            return ["published \(request)" + (failure.map { " not: \($0.code)" } ?? "")]
        case .deliver(.connection(let disconnection)): return [disconnection == nil ? "connected" : "not connected"]
        }
    }

    private static func text(_ publisher: KnownPublisher) -> String {
        "\(publisher.client) of \(publisher.trackable) \(publisher.isPresent ? "present" : "gone")"
            + (publisher.isOwner ? " owner" : "") + " since \(publisher.since.seconds)"
            + (publisher.lastSeen.map { " seen \($0.seconds)" } ?? "")
    }

    private static func text(_ update: ReceivedUpdate) -> String {
        let skipped = update.skipped.compactMap(\.seq).map { "\($0)" }.joined(separator: ",")
        return "\(update.update.location.seq ?? 0)" + (skipped.isEmpty ? "" : " skipped \(skipped)")
            + (update.update.enhancement?.road.map { " on \($0) after \(update.update.intermediate.count)" } ?? "")
            + (update.isLate ? " late" : "") + (update.isRetained ? " kept" : "")
    }

    private mutating func text(_ command: TransportCommand) -> String {
        switch command {
        case .subscribe(let filters, let token):
            self.subscriptions.append((token, filters))
            return "subscribe \(filters.map { $0.dropFirst(9) }.joined(separator: " "))"
        case .unsubscribe(let filters): return "unsubscribe \(filters.map { $0.dropFirst(9) }.joined(separator: " "))"
        case .tryNow: return "try now"
        case .acknowledge(let count, _): return "acknowledge \(count)"
        case .close: return "close"
        case .publish(let message, let token):
            self.publishes.append((token, message.topic))
            let topic = message.topic.dropFirst(9)
            guard !message.payload.isEmpty else { return "\(topic): cleared" }
            if let liveness = try? MessageCodec.decodeLiveness(message.payload) {
                let status = liveness.status == .offline ? "offline" : "online"
                return "\(topic): \(status) \(liveness.session)/\(liveness.connection)"
            }
            if let presence = try? MessageCodec.decodePresence(message.payload) {
                return "\(topic): present \(presence.session)/\(presence.connection) since \(presence.since.seconds)"
            }
            let request = try? MessageCodec.decodeRequest(message.payload)
            return "\(topic): ask \(request?.resolution.desiredInterval.inMilliseconds ?? -1)"
        }
    }
}
