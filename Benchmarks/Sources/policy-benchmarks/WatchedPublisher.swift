import BenchmarkSupport
import TrackingCore
import TrackingPublisher

/// A subscriber, and what it sends.
struct Visitor {
    /// Joining takes two messages: its liveness and its presence.
    let joins: [IncomingMessage]
    let asks: IncomingMessage
    /// An orderly goodbye: request, presence and liveness are cleared.
    let leaves: [IncomingMessage]

    /// Subscriber `number`; where nothing is said it asks for something that hardly anyone else asks for.
    init(_ number: Int, asks resolution: Resolution? = nil) throws {
        guard let session = SessionID("session\(number)") else { throw BenchmarkError("no session id") }
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

/// A publisher's decisions with a connection that answers everything at once.
struct WatchedPublisher {
    private var machine: PublisherStateMachine
    private var moment = Moment(now: MonotonicTime(.seconds(1)), wall: UnixTime(1_550_475_950))
    /// The number of changes of the resolution in force, or of a reason for it.
    private(set) var changes = 0

    /// A publisher of one trackable that subscribers 0…watchers-1 watch, each with a request of its own.
    init(watchers: Int) throws {
        guard let session = SessionID("publisher") else { throw BenchmarkError("no session id") }
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

    /// Visitors join, ask and leave; microseconds for each of the three, answers included.
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

    /// Tells the machine, and answers what it asks of the connection, until it asks no more.
    private mutating func deliver(_ event: PublisherStateMachine.Event) {
        var events = [event]
        while let event = events.popLast() {
            // So little time passes that no lease runs out, and enough that no visitor exceeds the limit of its requests.
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
