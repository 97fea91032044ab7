private import CMosquitto
private import Glibc
private import Synchronization
import TrackingCore

/// Drives one connection on the event loop's thread: carries out what the ``ConnectionStateMachine`` decides.
actor MQTTConnection {
    nonisolated let loop: MQTTEventLoop
    nonisolated let queue = EventQueue()
    private nonisolated let outbox = Mutex<[TransportCommand]>([])
    private nonisolated let wantsReading = Atomic<Bool>(false)
    private let configuration: MQTTConfiguration
    private var machine: ConnectionStateMachine
    private var client: Client?
    /// What this pass brought, handed over at its end.
    private var events: [TransportEvent] = []
    private var isReading = true
    private var isOver = false
    private var ended: CheckedContinuation<Void, Never>?
    private var listening: (descriptor: Int32, events: UInt32)?
    private var nextMisc: MonotonicTime?

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.loop.asUnownedSerialExecutor() }

    /// A client of libmosquitto and what is outstanding on it.
    private final class Client {
        var handle: MosquittoClient
        let notes: CallbackNotes
        let endpoint: MQTTEndpoint
        let version: ConnectionStateMachine.Version
        var isTCPOpen = false
        var publishes: [Int32: TransportToken] = [:]
        var subscriptions: [Int32: (token: TransportToken, count: Int)] = [:]
        /// When the broker last answered something, or something was first outstanding.
        var lastProgress: MonotonicTime?

        var isFlushed: Bool { self.publishes.isEmpty && self.subscriptions.isEmpty }

        init(_ handle: consuming MosquittoClient, _ notes: CallbackNotes, _ endpoint: MQTTEndpoint, _ version: ConnectionStateMachine.Version) {
            self.handle = handle
            self.notes = notes
            self.endpoint = endpoint
            self.version = version
        }
    }

    init(_ configuration: MQTTConfiguration, loop: MQTTEventLoop) {
        self.configuration = configuration
        self.loop = loop
        var decisions = ConnectionStateMachine.Configuration(
            endpoints: configuration.endpoints.count, pinnedVersion: configuration.version)
        decisions.connectTimeout = configuration.connectTimeout
        decisions.longestWait = configuration.longestWait
        self.machine = ConnectionStateMachine(configuration: decisions, seed: .random(in: .min ... .max))
    }

    // MARK: - From any thread

    nonisolated func send(_ commands: [TransportCommand]) {
        let isFirst = self.outbox.withLock { outbox in
            defer { outbox += commands }
            return outbox.isEmpty
        }
        if isFirst { self.loop.wake(self) }
    }

    nonisolated func resumeReading() {
        self.wantsReading.store(true, ordering: .releasing)
        self.loop.wake(self)
    }

    /// Connects and returns when the connection is over for good.
    func run() async {
        guard !self.isOver else { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.ended = continuation
                self.perform(self.machine.started(now: MQTTEventLoop.now))
                self.loop.wake(self)
            }
        } onCancel: {
            self.send([.close(within: .zero)])
        }
    }

    // MARK: - From the loop

    func ready(_ ready: UInt32) {
        guard let client = self.client else { return }
        if ready & (EPOLLOUT.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            guard self.opened(client) else { return }
            self.check(client.handle.write(), client)
        }
        if self.client === client, ready & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 {
            self.check(client.handle.read(), client)
        }
    }

    func takeCommands() {
        if self.wantsReading.exchange(false, ordering: .acquiring) { self.isReading = true }
        let commands = self.outbox.withLock { outbox in
            defer { outbox = [] }
            return outbox
        }
        for command in commands { self.carryOut(command) }
        // Written at once: a command should not wait for another turn of the loop.
        if let client = self.client, client.isTCPOpen, client.handle.wantsToWrite {
            self.check(client.handle.write(), client)
        }
    }

    func timerFired() {
        let now = MQTTEventLoop.now
        self.perform(self.machine.timerFired(now: now))
        guard let client = self.client else { return }
        if let progress = client.lastProgress, progress.duration(to: now) >= self.configuration.answerTimeout {
            self.lost(
                TrackingError(
                    .connectionLost,
                    "the broker did not answer within \(self.configuration.answerTimeout.inSeconds) s"))
        } else if let misc = self.nextMisc, now >= misc {
            self.nextMisc = now.advanced(by: .seconds(5))
            self.check(client.handle.misc(), client)
        }
    }

    /// Gives this pass's events to the reader.
    func handOver() {
        guard !self.events.isEmpty else { return }
        let goesOn = self.queue.append(self.events)
        self.events.removeAll(keepingCapacity: true)
        if !goesOn { self.isReading = false }
        if self.isOver { self.queue.finish() }
    }

    /// Tells the loop what to listen for: the descriptor before and now, the next deadline, and whether all is over.
    func interest() -> (old: Int32?, new: Int32?, deadline: MonotonicTime?, isOver: Bool) {
        let old = self.listening?.descriptor
        var wanted: (descriptor: Int32, events: UInt32)?
        if let client = self.client, client.handle.descriptor >= 0 {
            let writes = client.handle.wantsToWrite || !client.isTCPOpen
            let events = (self.isReading ? EPOLLIN.rawValue : 0) | (writes ? EPOLLOUT.rawValue : 0)
            wanted = (client.handle.descriptor, UInt32(events))
        }
        if let wanted {
            if self.listening == nil || self.listening?.descriptor != wanted.descriptor {
                self.loop.listen(to: wanted.descriptor, for: wanted.events, isNew: true)
            } else if self.listening?.events != wanted.events {
                self.loop.listen(to: wanted.descriptor, for: wanted.events, isNew: false)
            }
        }
        self.listening = wanted
        let watchdog = self.client?.lastProgress?.advanced(by: self.configuration.answerTimeout)
        let deadlines = [self.machine.nextDeadline, watchdog, self.client == nil ? nil : self.nextMisc]
        return (old, wanted?.descriptor, deadlines.compactMap { $0 }.min(), self.isOver)
    }

    // MARK: - Carrying out

    private func perform(_ actions: [ConnectionStateMachine.Action]) {
        for action in actions {
            switch action {
            case .open(let endpoint, let version): self.open(self.configuration.endpoints[endpoint], version)
            case .sayGoodbye:
                self.client?.handle.disconnect()
                _ = self.client?.handle.write()
            case .drop: self.drop()
            case .tell(let event): self.events.append(event)
            case .end:
                self.isOver = true
                self.ended?.resume()
                self.ended = nil
            }
        }
    }

    private func open(_ endpoint: MQTTEndpoint, _ version: ConnectionStateMachine.Version) {
        let notes = CallbackNotes()
        do throws(TrackingError) {
            var handle = try MosquittoClient(self.configuration, version: version, notes: notes)
            if let will = self.configuration.will?(self.machine.connections) { try handle.setWill(will) }
            if endpoint.isTLS { try handle.setTLS(self.configuration.tls) }
            try handle.connect(to: endpoint, keepAlive: self.configuration.keepAlive)
            self.client = Client(handle, notes, endpoint, version)
            self.isReading = true
            self.nextMisc = MQTTEventLoop.now.advanced(by: .seconds(5))
        } catch {
            self.perform(self.machine.lost(error, now: MQTTEventLoop.now))
        }
    }

    private func drop() {
        if let listening = self.listening {
            // Removed before libmosquitto closes it: the number may be taken by another connection at once.
            self.loop.forget(listening.descriptor)
            self.listening = nil
        }
        self.client = nil
    }

    private func carryOut(_ command: TransportCommand) {
        if case .close(let limit) = command {
            let isFlushed = self.client?.isFlushed ?? true
            return self.perform(self.machine.closeAsked(within: limit, isFlushed: isFlushed, now: MQTTEventLoop.now))
        }
        guard self.machine.isOnline, let client = self.client else { return }
        let now = MQTTEventLoop.now
        switch command {
        case .publish(let message, let token): self.publish(message, token, client, now)
        case .subscribe(let filters, let token): self.subscribe(filters, token, client, now)
        case .unsubscribe(let filters): if !filters.isEmpty { client.handle.unsubscribe(filters) }
        case .close: break
        }
    }

    private func publish(_ message: OutgoingMessage, _ token: TransportToken, _ client: Client, _ now: MonotonicTime) {
        guard message.payload.count <= 131_072 else {
            let error = TrackingError(
                .payloadTooLarge, "a payload of \(message.payload.count) bytes is above the limit of 131,072")
            return self.events.append(.published(token, refusal: error))
        }
        let (mid, result) = client.handle.publish(message, isVersion5: client.version == .v5)
        guard result == MOSQ_ERR_SUCCESS.rawValue else {
            let error = MosquittoClient.error(result, "'\(message.topic)' cannot be published", otherwise: .refused)
            guard MosquittoClient.isRefusedForGood(result) else { return self.lost(error) }
            return self.events.append(.published(token, refusal: error))
        }
        client.publishes[mid] = token
        if client.lastProgress == nil { client.lastProgress = now }
    }

    private func subscribe(_ filters: [String], _ token: TransportToken, _ client: Client, _ now: MonotonicTime) {
        guard !filters.isEmpty else { return self.events.append(.subscribed(token, refusals: [])) }
        let (mid, result) = client.handle.subscribe(filters)
        guard result == MOSQ_ERR_SUCCESS.rawValue else {
            let error = MosquittoClient.error(result, "the subscription cannot be made", otherwise: .refused)
            return self.events.append(.subscribed(token, refusals: filters.map { _ in error }))
        }
        client.subscriptions[mid] = (token, filters.count)
        if client.lastProgress == nil { client.lastProgress = now }
    }

    // MARK: - What libmosquitto tells

    /// Whether the socket is open; tells when it could not be opened.
    private func opened(_ client: Client) -> Bool {
        guard !client.isTCPOpen else { return true }
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(client.handle.descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        guard error == 0 else {
            let place = "\(client.endpoint.host):\(client.endpoint.port)"
            self.lost(
                TrackingError(.brokerUnreachable, "\(place) cannot be reached: \(String(cString: strerror(error)))"))
            return false
        }
        client.isTCPOpen = true
        return true
    }

    /// Takes in what a call brought, then what it returned.
    private func check(_ result: Int32, _ client: Client) {
        let notes = client.notes.notes
        client.notes.notes.removeAll(keepingCapacity: true)
        for note in notes where self.client === client { self.take(note, client) }
        guard self.client === client else { return }
        if client.isFlushed {
            client.lastProgress = nil
            self.perform(self.machine.flushed())
        }
        guard self.client === client, result != MOSQ_ERR_SUCCESS.rawValue else { return }
        let reason = client.handle.tlsError(client.endpoint)
        self.lost(
            reason ?? MosquittoClient.error(result, "the connection is gone", otherwise: .connectionLost),
            wasSilent: reason == nil && result != MOSQ_ERR_TLS.rawValue)
    }

    private func take(_ note: CallbackNotes.Note, _ client: Client) {
        let now = MQTTEventLoop.now
        switch note {
        case .connected(0, let sessionPresent):
            self.perform(self.machine.accepted(sessionPresent: sessionPresent, now: now))
        case .connected(let reason, _):
            let code = client.version == .v5 ? reason : MosquittoClient.connackReason(reason)
            self.perform(self.machine.refused(MosquittoClient.refusal(code, of: "the connection"), now: now))
        case .disconnected(let reason):
            // A DISCONNECT of MQTT 5 says why; everything else shows in the result of the call.
            guard reason >= 0x80 else { return }
            self.lost(MosquittoClient.refusal(reason, of: "to go on"))
        case .published(let mid, let reason):
            guard let token = client.publishes.removeValue(forKey: mid) else { return }
            client.lastProgress = now
            let refusal = reason >= 0x80 ? MosquittoClient.refusal(reason, of: "a message") : nil
            self.events.append(.published(token, refusal: refusal))
        case .subscribed(let mid, let reasons):
            guard let (token, count) = client.subscriptions.removeValue(forKey: mid) else { return }
            client.lastProgress = now
            let refusals = reasons.map { $0 >= 0x80 ? MosquittoClient.refusal($0, of: "a subscription") : nil }
            self.events.append(.subscribed(token, refusals: refusals + Array(repeating: nil, count: max(0, count - refusals.count))))
        case .received(let message):
            self.events.append(.received(message))
        }
    }

    private func lost(_ error: TrackingError, wasSilent: Bool = false) {
        self.perform(self.machine.lost(error, wasSilent: wasSilent, now: MQTTEventLoop.now))
    }
}
