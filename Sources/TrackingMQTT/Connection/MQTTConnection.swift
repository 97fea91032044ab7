import CMosquitto
import Logging
import TrackingCore

/// Drives one client: carries out what its ``ConnectionStateMachine`` decides, and tells it what came of it.
///
/// It runs on the thread of its event loop, which looks at it once a pass: whatever has come is read and handed over as one
/// batch, then commands are taken and written.
actor MQTTConnection {
    /// What a connection that is being made, or stands, consists of.
    struct Link {
        let attempt: ConnectionStateMachine.Attempt
        let endpoint: MQTTEndpoint
        /// Addresses not yet tried.
        var addresses: ArraySlice<String> = []
        var tls: TLSContext?
        var handle: MosquittoHandle?
        /// What the poller was asked for; `nil` before it was asked.
        var interest: Poller.Readiness?
        /// Whether the socket, and TLS where there is one, stands, so that CONNECT was sent.
        var isUp = false
        /// Whether the machine was told of the CONNACK.
        var isAccepted = false
        var withholding = Withholding()
        var arrival = PacketArrival()
    }

    nonisolated let loop: MQTTEventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.loop.asUnownedSerialExecutor() }

    let configuration: MQTTConfiguration
    let outbox: Outbox
    let events: EventQueue
    let sink: MosquittoSink

    var machine: ConnectionStateMachine
    var key = 0
    var now = MonotonicTime(.zero)
    var link: Link?
    var backlog = Backlog()
    /// What is under way is a suspect, which is sent alone.
    var isHeldForSuspect = false
    /// The subscription that is being sent filter by filter.
    var split: SplitSubscription?
    /// The number of the connection that was last accepted; -1 before the first.
    var connection = -1
    /// How many publishes may be under way on this connection.
    var window = 0
    /// Reading is held back until the role has caught up.
    var isHeldBack = false
    /// Since when reading is no longer held back: answers cannot be late while they are not read.
    var readingSince = MonotonicTime(.zero)
    var nextKeepAlive: MonotonicTime?
    /// Counts lookups, so that the answer to one that was given up is recognised.
    var lookups = 0
    /// Where each endpoint's list of addresses is begun: after one that did not answer.
    var addressOffsets: [Int: Int] = [:]
    var lastLoggedCode: TrackingError.Code?
    private var isFinished = false
    private var ending: CheckedContinuation<Void, Never>?

    init(
        configuration: MQTTConfiguration, loop: MQTTEventLoop, outbox: Outbox, events: EventQueue,
        unheard: UnheardPublishes?
    ) {
        self.configuration = configuration
        self.loop = loop
        self.outbox = outbox
        self.events = events
        self.sink = MosquittoSink(unheard: unheard)
        var system = SystemRandomNumberGenerator()
        self.machine = ConnectionStateMachine(configuration: configuration.decisions, seed: system.next())
    }

    /// Connects and returns when the machine has come to its end.
    func run() async {
        self.now = .current
        let key = self.loop.attach(self)
        self.key = key
        self.outbox.listen { [loop] in loop.wake(key) }
        self.events.listen { [loop] in loop.wake(key) }
        self.perform(self.machine.started(now: self.now))
        await withCheckedContinuation { continuation in
            if self.isFinished { continuation.resume() } else { self.ending = continuation }
        }
        self.outbox.listen(nil)
        self.events.listen(nil)
        self.loop.detach(key)
    }

    /// The first half of a pass, where the socket is ready: what has come is handed over, before anything is written.
    func receive(_ readiness: Poller.Readiness, now: MonotonicTime) {
        self.now = now
        guard !self.isFinished else { return }
        self.resumeReading()
        self.read(readiness)
        self.deliver()
    }

    /// The second half of a pass.
    ///
    /// - Returns: When the next is due even if nothing happens.
    func service(_ readiness: Poller.Readiness, now: MonotonicTime) -> MonotonicTime? {
        self.now = now
        guard !self.isFinished else { return nil }
        self.takeCommands()
        self.resumeReading()
        self.read([])
        self.link?.withholding.looked(at: self.sink.receivedCount, now: now)
        self.endStalledPacket()
        self.carryOutCommands()
        self.write(readiness)
        self.keepAlive()
        self.watchAnswers()
        self.perform(self.machine.timerFired(now: now))
        self.watchSocket()
        self.deliver()
        return [self.machine.nextDeadline, self.nextKeepAlive, self.packetDeadline].compactMap { $0 }.min()
    }

    // MARK: - Carrying out decisions

    func perform(_ actions: [ConnectionStateMachine.Action]) {
        for action in actions { self.perform(action) }
    }

    private func perform(_ action: ConnectionStateMachine.Action) {
        switch action {
        case .connect(let attempt): self.connect(attempt)
        case .abandon: self.abandon()
        case .sendGoodbye: self.sendGoodbye()
        case .tell(.connected(let connection, let sessionPresent)):
            self.becomeConnected(connection, sessionPresent: sessionPresent)
        case .tell(.disconnected(let disconnection)): self.becomeDisconnected(disconnection)
        case .tell(let event): self.sink.batch.append(event)
        case .finish: self.finish()
        }
    }

    private func becomeConnected(_ connection: Int, sessionPresent: Bool) {
        self.connection = connection
        self.link?.handle?.stopListeningToComplaints()
        self.nextKeepAlive = self.now.advanced(by: self.keepAliveInterval)
        self.readingSince = self.now
        self.sink.batch.prepend(.connected(connection: connection, sessionPresent: sessionPresent))
        self.logConnected(connection, sessionPresent: sessionPresent)
    }

    private func becomeDisconnected(_ disconnection: Disconnection) {
        self.backlog.removeAll()
        self.isHeldForSuspect = false
        self.split = nil
        self.sink.inFlight.removeAll()
        self.nextKeepAlive = nil
        self.sink.batch.append(.disconnected(disconnection))
        self.logDisconnected(disconnection)
    }

    private func finish() {
        self.closeLink()
        self.deliver()
        self.events.finish()
        self.isFinished = true
        self.ending?.resume()
        self.ending = nil
    }

    /// Hands over what was gathered.
    func deliver() {
        guard !self.sink.batch.isEmpty else { return }
        let bytes = self.sink.batch.byteCount
        let hasRoom = self.events.append(self.sink.batch.take(), bytes: bytes, connection: self.connection)
        if !hasRoom, !self.isHeldBack {
            self.isHeldBack = true
            self.watchSocket()
        }
    }

    private func resumeReading() {
        guard self.isHeldBack, self.events.hasRoom else { return }
        self.isHeldBack = false
        self.readingSince = self.now
    }

    private func watchAnswers() {
        let oldest = self.isHeldBack ? nil : self.sink.inFlight.oldest
        self.machine.answersAwaited(since: oldest.map { max($0, self.readingSince) })
    }
}
