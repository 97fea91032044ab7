public import TrackingCore
import Synchronization
import TrackingRuntime

/// Tries on a broker everything that Godwit relies on and everything that makes it cheaper.
///
///     let certification = Certification(root: "godwit-certify", clusters: false) { client in … }
///     let certificate = try await certification.certify()
///
/// Every topic begins with the root and a random level, and every client id contains the same random level. The
/// certification clears its retained messages and ends its sessions, also after an error or a cancellation. Every wait
/// has a deadline.
public struct Certification<Transport: MessageTransport>: Sendable {
    /// A function that makes a client of the broker. The client connects when its `run()` is called.
    public typealias MakeClient = @Sendable (_ client: CertificateClient) throws -> Transport

    /// The wait without a further message after which missing messages count as lost.
    let pause: Duration
    /// `true` if there is a second address of the broker.
    let clusters: Bool
    /// The random level of topics and client ids.
    let run: String
    private let root: String
    private let makeClient: MakeClient
    private let traces = Traces()

    /// The wait for the broker's answer to one command, or for one event.
    static var patience: Duration { .seconds(15) }
    /// The wait for the broker's answers to thousands of messages, of which some brokers accept only ten at a time.
    static var longPatience: Duration { .seconds(180) }

    /// Creates a certification of a broker that has not begun.
    ///
    /// - Parameters:
    ///   - root: The topic levels below which the certification publishes.
    ///   - clusters: `true` if the function makes clients for a second address, ``CertificateClient/Address/second``.
    ///   - pause: The wait without a further message after which missing messages count as lost.
    ///   - makeClient: The function that makes the clients.
    public init(root: String, clusters: Bool, pause: Duration = .seconds(5), makeClient: @escaping MakeClient) {
        // The thread sanitizer cannot observe a generator without stored properties, as that of the system.
        var generator = SplitMix64(seed: .random(in: .min ... .max))
        self.run = SessionID.random(using: &generator).rawValue
        self.root = root
        self.clusters = clusters
        self.pause = pause
        self.makeClient = makeClient
    }

    /// Makes all observations, removes every trace at the broker, and judges the broker.
    ///
    /// - Throws: The reason why the broker cannot be reached or refuses the connection; `takenOver` if the broker allows
    ///   only one connection of the user; `CancellationError` if the task was cancelled.
    public func certify() async throws -> Certificate {
        let observations: Result<[CertificateCheck: CertificateObservation], any Error>
        do {
            observations = .success(try await self.observe())
        } catch {
            observations = .failure(error)
        }
        // The task of the caller may be cancelled, and its children would be too.
        await Task { await self.removeTraces() }.value
        try Task.checkCancellation()
        return Certificate(try observations.get())
    }

    private func observe() async throws -> [CertificateCheck: CertificateObservation] {
        try await self.checkConnections()
        let isMQTT5 = await self.accepts(.v5)
        var found: [CertificateCheck: CertificateObservation] = [.mqtt5: .answer(isMQTT5)]
        let tests: [([CertificateCheck], () async throws -> [CertificateObservation])] = [
            ([.acknowledged, .order], self.observeDelivery), ([.session, .queue], self.observeSession),
            ([.redelivery], self.observeRedelivery), ([.will, .closing], self.observeWills),
            ([.takeover, .reasons], { try await self.observeTakeover(isMQTT5: isMQTT5) }),
            ([.retained, .wildcard, .retainedElsewhere, .clearing], self.observeRetained),
            ([.share], self.observeShare), ([.properties], { try await self.observeProperties(isMQTT5: isMQTT5) }),
            ([.payload], self.observePayloads), ([.filters], self.observeFilters), ([.topics], self.observeTopics),
            ([.elsewhere], self.observeElsewhere), ([.takeoverElsewhere], self.observeTakeoverElsewhere),
            ([.sessionElsewhere], self.observeSessionElsewhere),
        ]
        for (checks, test) in tests {
            try Task.checkCancellation()
            do {
                for (check, observation) in zip(checks, try await test()) { found[check] = observation }
            } catch let error as TrackingError {
                for check in checks { found[check] = .error(error.message) }
            }
        }
        return found
    }

    // MARK: - Clients

    /// Returns a topic of the certification.
    func topic(_ levels: String) -> String { "\(self.root)/\(self.run)/\(levels)" }

    /// Returns the settings of a client whose id has this ending.
    func client(_ name: String) throws(TrackingError) -> CertificateClient {
        CertificateClient(id: try ClientID("certify-\(self.run)-\(name)"))
    }

    /// Runs a client while `body` runs. `body` begins when the client is connected.
    ///
    /// - Parameters:
    ///   - client: The settings of the client.
    ///   - isCut: `true` to end the connection without a DISCONNECT, as a loss of the connection does.
    ///   - body: The use of the client.
    /// - Throws: The reason why the client cannot connect; the errors of `body`. The connection is then cut.
    func with<Value: Sendable>(
        _ client: CertificateClient, isCut: Bool = false, _ body: (Probe<Transport>) async throws -> Value
    ) async throws -> Value {
        if client.isKept { self.traces.keep(client.id) }
        if let will = client.will, will.isRetained { self.traces.retain(will.topic) }
        let probe = Probe(try self.makeClient(client))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await probe.run() }
            defer { group.cancelAll() }
            await probe.wait(Self.patience) { $0.connections > 0 || $0.losses.contains { $0.failure != nil } }
            guard probe.read({ $0.connections > 0 }) else { throw probe.noAnswer("the connection") }
            let value = try await body(probe)
            if !isCut { await probe.close() }
            return value
        }
    }

    /// Publishes retained messages, and remembers their topics until they are cleared.
    func retain(_ messages: [OutgoingMessage], by probe: Probe<Transport>) async -> [Bool] {
        for message in messages { self.traces.retain(message.topic) }
        return await probe.publish(messages, within: Self.longPatience)
    }

    /// Checks that two clients with different client ids can be connected at the same time.
    private func checkConnections() async throws {
        try await self.with(self.client("one")) { one in
            try await self.with(self.client("two")) { two in
                _ = await two.publish([OutgoingMessage(self.topic("begin"), "0")], within: Self.patience)
                _ = await one.publish([OutgoingMessage(self.topic("begin"), "1")], within: Self.patience)
                guard one.read({ $0.losses.isEmpty }) else { throw Self.oneConnection }
            }
        }
    }

    private static var oneConnection: TrackingError {
        TrackingError(
            .takenOver,
            "cannot certify the broker: it ended the first of two connections with different client ids. It may use the name of the user as the client id (Mosquitto: use_username_as_clientid). Certify a listener without this setting"
        )
    }

    /// Returns `true` if the broker accepts a connection with this version of MQTT.
    private func accepts(_ version: ConnectionStateMachine.Version) async -> Bool {
        do {
            var client = try self.client("version")
            client.version = version
            return try await self.with(client) { _ in true }
        } catch {
            return false
        }
    }

    // MARK: - Cleaning up

    /// A topic filter of the retained messages that may remain at the broker, because the broker did not accept their
    /// removal; `nil` if none remain. Read it after ``certify()``.
    public var remains: String? { self.traces.all.topics.isEmpty ? nil : self.topic("#") }

    /// Clears the retained messages of the certification, and ends its sessions, at both addresses. An error ends only
    /// the cleaning of one address: the broker may be unreachable.
    private func removeTraces() async {
        let (topics, clients) = self.traces.all
        var areCleared = true
        for address in self.clusters ? [CertificateClient.Address.first, .second] : [.first] {
            let isCleared = await self.clear(topics, at: address)
            areCleared = areCleared && isCleared
            for id in clients {
                // A clean session replaces the kept one, and ends with its connection.
                var client = CertificateClient(id: id)
                client.address = address
                try? await self.with(client) { _ in }
            }
        }
        if areCleared { self.traces.forgetTopics() }
    }

    /// Clears the retained messages of topics at one address. Returns `true` if the broker accepted every removal.
    private func clear(_ topics: [String], at address: CertificateClient.Address) async -> Bool {
        if topics.isEmpty { return true }
        do {
            var sweeper = try self.client("sweeper")
            sweeper.address = address
            return try await self.with(sweeper) { probe in
                let empty = topics.map { OutgoingMessage($0, "", isRetained: true) }
                return await !probe.publish(empty, within: Self.longPatience).contains(false)
            }
        } catch {
            return false
        }
    }
}

/// The retained messages and kept sessions that a certification has left at the broker so far.
private final class Traces: Sendable {
    private let state = Mutex<(topics: Set<String>, clients: Set<ClientID>)>(([], []))

    var all: (topics: [String], clients: [ClientID]) {
        self.state.withLock { (Array($0.topics), Array($0.clients)) }
    }

    func retain(_ topic: String) { self.state.withLock { _ = $0.topics.insert(topic) } }
    func forgetTopics() { self.state.withLock { $0.topics = [] } }
    func keep(_ client: ClientID) { self.state.withLock { _ = $0.clients.insert(client) } }
}

extension OutgoingMessage {
    init(_ topic: String, _ text: String, isRetained: Bool = false) {
        self.init(topic: topic, payload: Array(text.utf8), isRetained: isRetained)
    }
}

extension IncomingMessage {
    /// The number in the payload of a numbered message; `nil` for another payload.
    var number: Int? { self.payload.count <= 16 ? Int(String(decoding: self.payload, as: UTF8.self)) : nil }
}
