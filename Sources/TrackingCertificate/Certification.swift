public import TrackingCore
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
    /// The topic levels below which the certification publishes.
    let root: String
    private let makeClient: MakeClient
    private let traces = CertificationTraces()

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
    /// - Throws: The reason why an address of the broker cannot be reached or refuses the connection, at the start or
    ///   later; `notAuthorized` if the user may not write or read the topics; `takenOver` if the broker allows only one
    ///   connection of the user; `CancellationError` if the task was cancelled.
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
            found.merge(try await self.observations(of: checks, by: test)) { $1 }
        }
        return found
    }

    /// Makes the observations of one test.
    ///
    /// - Throws: The reason why an address of the broker cannot be reached after a check that did not pass. The broker
    ///   is then not judged.
    private func observations(
        of checks: [CertificateCheck], by test: () async throws -> [CertificateObservation]
    ) async throws -> [CertificateCheck: CertificateObservation] {
        var found: [CertificateCheck: CertificateObservation] = [:]
        do {
            for (check, observation) in zip(checks, try await test()) { found[check] = observation }
        } catch let error as TrackingError {
            for check in checks { found[check] = .error(error.message) }
        }
        let isMissing = found.contains { check, observation in
            [.lacking, .failed].contains(CertificateFinding(check, observation).verdict)
        }
        if isMissing { try await self.checkAddresses() }
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
        if let will = client.will, will.isRetained { _ = self.traces.retain(will.topic) }
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

    /// Publishes retained messages, and remembers the topics that may have a retained message then.
    ///
    /// - Returns: The reason why the broker did not accept all messages; `nil` if the broker accepted all.
    func retain(_ messages: [OutgoingMessage], by probe: Probe<Transport>) async -> TrackingError? {
        let added = Set(messages.map(\.topic)).filter { self.traces.retain($0) }
        let answers = await probe.answers(to: messages, within: Self.longPatience)
        var failure: TrackingError?
        for (message, answer) in zip(messages, answers) {
            switch answer {
            case .accepted: continue
            case .refused(let refusal):
                failure = failure ?? refusal
                if added.contains(message.topic) { self.traces.forget(message.topic) }
            case .missing: failure = failure ?? probe.noAnswer("a retained publish")
            }
        }
        return failure
    }

    /// Notes that the broker still delivers retained messages whose removal it accepted, so that ``remainingTopics``
    /// names them.
    func noteFailedRemoval() { self.traces.noteFailedRemoval() }

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

    /// A topic filter of the retained messages that may remain at the broker, because the broker did not accept or did
    /// not execute their removal; `nil` if none remain. Read it after ``certify()``.
    public var remainingTopics: String? { self.traces.topics.isEmpty ? nil : self.topic("#") }

    /// The client ids whose sessions may remain at the broker, because the certification could not connect to end them.
    /// Read them after ``certify()``.
    public var remainingClients: [ClientID] { self.traces.clients.sorted() }

    /// Clears the retained messages of the certification, and ends its sessions, at every address. An error does not end
    /// the cleaning: another address may be reachable.
    private func removeTraces() async {
        let topics = self.traces.topics
        var areCleared = true
        for address in self.addresses {
            let isCleared = await self.clear(topics, at: address)
            areCleared = areCleared && isCleared
        }
        if areCleared { self.traces.forgetRemovedTopics() }
        for client in self.traces.clients {
            var hasEnded = true
            for address in self.addresses {
                let endsHere = await self.endSession(of: client, at: address)
                hasEnded = hasEnded && endsHere
            }
            if hasEnded { self.traces.forget(client) }
        }
    }

    /// Ends the session of a client at one address. Returns `true` if the broker accepted the connection that ends it.
    private func endSession(of id: ClientID, at address: CertificateClient.Address) async -> Bool {
        // A clean session replaces the kept one, and ends with its connection.
        var client = CertificateClient(id: id)
        client.address = address
        do {
            try await self.with(client) { _ in }
            return true
        } catch {
            return false
        }
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

extension OutgoingMessage {
    init(_ topic: String, _ text: String, isRetained: Bool = false) {
        self.init(topic: topic, payload: Array(text.utf8), isRetained: isRetained)
    }
}

extension IncomingMessage {
    /// The number in the payload of a numbered message; `nil` for another payload.
    var number: Int? { self.payload.count <= 16 ? Int(String(decoding: self.payload, as: UTF8.self)) : nil }
}
