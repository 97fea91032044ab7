import TrackingCore

@testable import TrackingRoads

/// A broker in memory with enhancers of one group. Each message waits until the test lets it go on.
struct EnhancerHub {
    struct Node {
        var machine: EnhancerStateMachine
        let run: Int
        var connection = 0
        var inbox: [TransportEvent] = []
        var outbox: [TransportCommand] = []
        var requests: [(Int, MatchRequest)] = []
        var subscriptions: Set<String> = []
        var isHanging = false
    }

    /// An update that reached the broker: the number of the fix, or `cleared`.
    struct Published {
        let client: String
        let text: String
    }

    private(set) var nodes: [String: Node] = [:]
    /// The number of the newest fix of each trackable, as its device published it.
    private(set) var raw: [String: Int] = [:]
    /// The number of the fix in the newest update of each trackable.
    private(set) var enhanced: [String: Int] = [:]
    /// Updates that are not newer than the update before them.
    private(set) var faults: [String] = []
    var published: [Published] = []
    private var retained: [String: ArraySlice<UInt8>] = [:]
    private var now = MonotonicTime(.zero)

    // MARK: - Inputs

    mutating func start(_ name: String, run: Int) throws {
        var configuration = EnhancerConfiguration(client: try ClientID(name), session: SessionID("run-\(run)")!)
        configuration.group = try ClientID("roads")
        self.nodes[name] = Node(machine: EnhancerStateMachine(configuration: configuration), run: run)
        self.deliver([.connected(connection: 0, sessionPresent: false)], to: name)
    }

    /// Ends a program at once. The broker publishes its will.
    mutating func kill(_ name: String) {
        guard let node = self.nodes.removeValue(forKey: name) else { return }
        self.publishWill(of: node, name)
    }

    mutating func stop(_ name: String) {
        self.happened(.stop, name)
        while self.flush(name) {}
    }

    /// No message reaches the program any more, and none leaves it.
    mutating func hang(_ name: String) { self.nodes[name]?.isHanging = true }

    /// Breaks the connection of a program, and makes it again.
    mutating func drop(_ name: String) {
        guard let node = self.nodes[name] else { return }
        self.nodes[name]?.subscriptions = []
        self.publishWill(of: node, name)
        self.happened(
            .transport([.disconnected(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero))]), name)
        // No command of the lost connection is sent on the next one.
        self.nodes[name]?.inbox = []
        self.nodes[name]?.outbox = []
        self.nodes[name]?.connection += 1
        self.deliver([.connected(connection: node.connection + 1, sessionPresent: false)], to: name)
    }

    mutating func fix(_ id: String) {
        let seq = (self.raw[id] ?? 0) + 1
        self.raw[id] = seq
        let payload = """
            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[9.5,\(47 + Double(seq) * 0.001)]},\
            "properties":{"time":\(1_700_000_000 + seq * 10),"seq":\(seq),"stream":"s1","speed":15}},\
            "skippedLocations":[],"type":"ACTUAL"}
            """
        self.publish("tracking/\(id)", Array(payload.utf8)[...])
    }

    mutating func clear(_ id: String) {
        self.raw[id] = nil
        self.publish("tracking/\(id)", [])
    }

    /// Lets time pass, and fires the deadlines that are over.
    mutating func wait(_ time: Duration) {
        let end = self.now.advanced(by: time)
        while let due = self.nodes.values.filter({ !$0.isHanging }).compactMap(\.machine.nextDeadline).min(),
            due <= end
        {
            self.now = max(self.now, due)
            for name in self.names { self.happened(.timer, name) }
            self.settle()
        }
        self.now = end
    }

    // MARK: - Steps

    private var names: [String] { self.nodes.filter { !$0.value.isHanging }.keys.sorted() }

    /// Lets one message, command or answer of one program go on.
    mutating func step(using generator: inout SplitMix64) {
        guard let name = self.names.randomElement(using: &generator) else { return }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: _ = self.handle(name)
        case 1: _ = self.flush(name)
        default: _ = self.answer(name)
        }
    }

    /// Lets everything go on until nothing waits.
    mutating func settle() {
        var isBusy = true
        while isBusy {
            isBusy = false
            for name in self.names {
                let steps = [self.handle(name), self.flush(name), self.answer(name)]
                isBusy = isBusy || steps.contains(true)
            }
        }
    }

    private mutating func handle(_ name: String) -> Bool {
        guard let event = self.nodes[name]?.inbox.first else { return false }
        self.nodes[name]?.inbox.removeFirst()
        self.happened(.transport([event]), name)
        return true
    }

    private mutating func answer(_ name: String) -> Bool {
        guard let (number, request) = self.nodes[name]?.requests.first else { return false }
        self.nodes[name]?.requests.removeFirst()
        let points = request.points.enumerated().map { index, fix in
            RoadMatch.Point(coordinate: fix.coordinate, confidence: .matched, edge: 0, segment: index, offset: 8)
        }
        let shape = points.map(\.coordinate) + [Coordinate(latitude: 48, longitude: 9.5)!]
        let edge = RoadMatch.Edge(id: 7, way: 70, road: "Landstrasse")
        self.happened(.answered(number, .success(RoadMatch(points: points, edges: [edge], shape: shape))), name)
        return true
    }

    private mutating func happened(_ event: EnhancerStateMachine.Event, _ name: String) {
        let moment = Moment(now: self.now, wall: UnixTime(1_700_000_000 + self.now.sinceOrigin.inSeconds))
        for action in self.nodes[name]?.machine.happened(event, at: moment) ?? [] {
            switch action {
            case .send(let commands): self.nodes[name]?.outbox += commands
            case .match(let number, let request): self.nodes[name]?.requests.append((number, request))
            case .deliver(.badMessage(let topic, let error)): self.faults.append("\(name) \(topic): \(error)")
            case .deliver, .route: break
            }
        }
    }

    // MARK: - Broker

    private mutating func deliver(_ events: [TransportEvent], to name: String) {
        self.nodes[name]?.inbox += events
    }

    private mutating func flush(_ name: String) -> Bool {
        guard let command = self.nodes[name]?.outbox.first else { return false }
        self.nodes[name]?.outbox.removeFirst()
        switch command {
        case .publish(let message, let token):
            self.note(message, name)
            self.publish(message.topic, message.payload[...])
            self.deliver([.published(token, refusal: nil)], to: name)
        case .subscribe(let filters, let token):
            self.nodes[name]?.subscriptions.formUnion(filters)
            self.deliver([.subscribed(token, refusals: filters.map { _ in nil })], to: name)
            for (topic, payload) in self.retained.sorted(by: { $0.key < $1.key })
            where filters.contains(where: { Self.matches(topic, $0) }) {
                self.deliver([.received(IncomingMessage(topic: topic, payload: payload, isRetained: true))], to: name)
            }
        case .unsubscribe(let filters): self.nodes[name]?.subscriptions.subtract(filters)
        case .close: self.nodes[name] = nil
        case .tryNow, .acknowledge: break
        }
        return true
    }

    private mutating func note(_ message: OutgoingMessage, _ name: String) {
        let levels = message.topic.split(separator: "/").map { String($0) }
        guard levels.count == 3, levels[2] == "enhanced" else { return }
        let id = levels[1]
        guard let seq = (try? LocationCodec.decode(message.payload))?.location.seq.map({ Int($0) }) else {
            self.enhanced[id] = nil
            self.published.append(Published(client: name, text: "\(id)-cleared"))
            return
        }
        if let last = self.enhanced[id], last >= seq { self.faults.append("\(name) \(id): \(seq) after \(last)") }
        self.enhanced[id] = seq
        self.published.append(Published(client: name, text: "\(id)#\(seq)"))
    }

    private mutating func publish(_ topic: String, _ payload: ArraySlice<UInt8>) {
        self.retained[topic] = payload.isEmpty ? nil : payload
        for (name, node) in self.nodes where node.subscriptions.contains(where: { Self.matches(topic, $0) }) {
            self.deliver([.received(IncomingMessage(topic: topic, payload: payload, isRetained: false))], to: name)
        }
    }

    private mutating func publishWill(of node: Node, _ name: String) {
        let will = Liveness(status: .offline, session: SessionID("run-\(node.run)")!, connection: node.connection)
        self.publish("tracking/_clients/\(name)", MessageCodec.encode(will)[...])
    }

    private static func matches(_ topic: String, _ filter: String) -> Bool {
        let (topic, filter) = (topic.split(separator: "/"), filter.split(separator: "/"))
        return topic.count == filter.count && zip(topic, filter).allSatisfy { $0 == $1 || $1 == "+" }
    }
}
