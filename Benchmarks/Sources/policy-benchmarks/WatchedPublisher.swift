import BenchmarkSupport
import TrackingCore
import TrackingPublisher

/// A subscriber that joins, asks and leaves, with the messages that it publishes for this.
struct Visitor {
    /// The messages with which the subscriber joins: its liveness and its presence.
    let joins: [IncomingMessage]
    let asks: IncomingMessage
    /// The messages with which the subscriber leaves in order: its request, presence and liveness are cleared.
    let leaves: [IncomingMessage]

    /// Makes the subscriber with this number. Without a given resolution, it asks for one that hardly any other
    /// subscriber asks for.
    init(_ number: Int, asks resolution: Resolution? = nil) throws {
        guard let session = SessionID("session\(number)") else {
            throw BenchmarkError("'session\(number)' is not a valid session id")
        }
        let client = try ClientID("watcher-\(number)")
        let accuracies = Resolution.Accuracy.allCases.dropLast()
        let usual = try Resolution(
            accuracy: accuracies[number % accuracies.count],
            desiredInterval: .milliseconds(1_000 + number * 7_919 % 60_000),
            minimumDisplacement: Meters(Double(1 + number * 104_729 % 10_000) / 10))
        let birth = Liveness(
            status: .online(lease: .seconds(90)), session: session, connection: 0)
        let presence = Presence(
            kind: .subscriber, session: session, connection: 0, lease: .seconds(90), since: UnixTime(1_550_475_950))
        let request = ResolutionRequest(session: session, resolution: resolution ?? usual)
        self.joins = [
            Self.message(.liveness(client), MessageCodec.encode(birth)),
            Self.message(.subscriber(van, client), MessageCodec.encode(presence)),
        ]
        self.asks = Self.message(.request(van, client), MessageCodec.encode(request))
        self.leaves = [
            Self.message(.request(van, client), []), Self.message(.subscriber(van, client), []),
            Self.message(.liveness(client), []),
        ]
    }

    private static func message(_ topic: Topic, _ payload: [UInt8]) -> IncomingMessage {
        IncomingMessage(topic: TopicRoot.standard.path(topic), payload: payload[...], isRetained: false)
    }
}

let van = try! TrackableID("van-7")  // a valid name

/// A publisher's state machine together with a fake connection that answers every action at once.
struct WatchedPublisher {
    private var machine: PublisherStateMachine
    private var moment = Moment(now: MonotonicTime(.seconds(1)), wall: UnixTime(1_550_475_950))
    /// The number of changes of the resolution in force, or of a reason for it.
    private(set) var changes = 0

    /// Makes a publisher of one trackable with `watchers` subscribers, each with a request of its own.
    init(watchers: Int) throws {
        guard let session = SessionID("publisher") else {
            throw BenchmarkError("'publisher' is not a valid session id")
        }
        let configuration = PublisherConfiguration(client: try ClientID("box"), session: session)
        self.machine = PublisherStateMachine(configuration: configuration, policy: DefaultResolutionPolicy(), seed: 1)
        var trackable = Trackable(van)
        trackable.constraints = try ResolutionConstraints(
            resolutions: ResolutionSet(all: .standard), batteryLevelThreshold: 20, lowBatteryMultiplier: 2)
        self.deliver(.add(trackable))
        self.deliver(.transport(.connected(connection: 0, sessionPresent: false)))
        for number in 0..<watchers {
            let visitor = try Visitor(number)
            self.receive(visitor.joins)
            self.receive([visitor.asks])
        }
        self.changes = 0
    }

    /// Lets subscribers join, ask and leave. Returns the microseconds for each of these three events, answers of the
    /// connection included.
    mutating func microsecondsAnEvent(_ visitors: [Visitor], visits: Int) -> Double {
        let start = secondsNow()
        for visit in 0..<visits {
            let visitor = visitors[visit % visitors.count]
            self.receive(visitor.joins)
            self.receive([visitor.asks])
            self.receive(visitor.leaves)
        }
        return (secondsNow() - start) * 1e6 / Double(3 * visits)
    }

    private mutating func receive(_ messages: [IncomingMessage]) {
        for message in messages { self.deliver(.transport(.received(message))) }
    }

    /// Passes an event to the state machine, and performs its actions on the fake connection until there are no more.
    private mutating func deliver(_ event: PublisherStateMachine.Event) {
        var events = [event]
        while let event = events.popLast() {
            // The time step is so small that no lease runs out, and large enough that no subscriber exceeds the limit
            // of its requests.
            self.moment.now = self.moment.now.advanced(by: .microseconds(150))
            for action in self.machine.happened(event, at: self.moment) {
                switch action {
                case .send(let commands): for command in commands { events += self.answer(to: command) }
                case .resolutionChanged: self.changes += 1
                case .log(let id, .append(let stream, let record, _)):
                    events.append(.log(id, .appended(stream, SeqSet([record.seq...record.seq]))))
                default: break
                }
            }
        }
    }

    private mutating func answer(to command: TransportCommand) -> [PublisherStateMachine.Event] {
        switch command {
        case .publish(_, let token):
            return [.transport(.published(token, refusal: nil))]
        case .subscribe(let filters, let token):
            return [.transport(.subscribed(token, refusals: filters.map { _ in nil }))]
        case .unsubscribe, .close, .tryNow, .acknowledge:
            return []
        }
    }
}
