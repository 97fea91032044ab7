import CMosquitto
import Logging
import TrackingCore
import TrackingRuntime

/// The driver of one client's connection to the broker: performs the actions of its ``ConnectionStateMachine``, and
/// reports their outcomes to the state machine.
///
/// The connection runs on the thread of its event loop, once in each pass of the loop: it reads the received bytes,
/// delivers the events as one batch, and then writes the role's commands.
actor MQTTConnection {
    /// The resources of one attempt to connect, and of the connection that follows.
    struct Link {
        let attempt: ConnectionStateMachine.Attempt
        let endpoint: MQTTEndpoint
        /// The broker's addresses that were not tried yet in this attempt.
        var addresses: ArraySlice<String> = []
        var tls: TLSContext?
        var handle: MosquittoHandle?
        /// The readiness of the socket that the poller waits for; `nil` before the first request to the poller.
        var interest: Poller.Readiness?
        /// `true` once the socket, and TLS if used, is connected and CONNECT is sent.
        var isUp = false
        /// `true` once the CONNACK was reported to the state machine.
        var isAccepted = false
        var withholding = Withholding()
        var arrival = PacketArrival()
    }

    /// The commands that are not sent yet.
    struct Sending {
        var backlog = Backlog()
        /// `true` while a suspected topic or filter is sent alone.
        var isHeldForSuspect = false
        /// The subscription that is sent in several packets; `nil` for none.
        var split: SplitSubscription?
    }

    /// The connection that was accepted last.
    struct Accepted {
        /// The number of the connection; -1 before the first.
        var connection = -1
        /// The number of publishes that may await an acknowledgement.
        var window = 0
    }

    /// The reading from the connection.
    struct Reading {
        /// `true` while reading is stopped until the role has caught up.
        var isHeldBack = false
        /// The time at which reading resumed last. Answers are not late while they are not read.
        var since = MonotonicTime(.zero)
    }

    /// The lookups of endpoints.
    struct Addresses {
        /// The number of lookups, which identifies the result of an abandoned lookup.
        var lookups = 0
        /// The first address to try in each endpoint's list: the one after an address that did not answer.
        var offsets: [Int: Int] = [:]
    }

    private enum Completion {
        /// The connection runs; the task in ``MQTTConnection/run()`` waits.
        case running(CheckedContinuation<Void, Never>?)
        case finished
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
    var sending = Sending()
    var accepted = Accepted()
    var reading = Reading()
    var addresses = Addresses()
    var nextKeepAlive: MonotonicTime?
    var lastLoggedCode: TrackingError.Code?
    private var completion = Completion.running(nil)

    init(
        configuration: MQTTConfiguration, loop: MQTTEventLoop, outbox: Outbox, events: EventQueue,
        unmatched: UnmatchedPublishes?
    ) {
        self.configuration = configuration
        self.loop = loop
        self.outbox = outbox
        self.events = events
        self.sink = MosquittoSink(unmatched: unmatched)
        var system = SystemRandomNumberGenerator()
        self.machine = ConnectionStateMachine(configuration: configuration.decisions, seed: system.next())
    }

    private var isFinished: Bool { if case .finished = self.completion { true } else { false } }

    /// Connects, and returns when the state machine has ended.
    func run() async {
        self.now = DeviceClock.now
        let key = self.loop.attach(self)
        self.key = key
        self.outbox.listen { [loop] in loop.wake(key) }
        self.events.listen { [loop] in loop.wake(key) }
        self.perform(self.machine.started(now: self.now))
        await withCheckedContinuation { continuation in
            if self.isFinished { continuation.resume() } else { self.completion = .running(continuation) }
        }
        self.outbox.listen(nil)
        self.events.listen(nil)
        self.loop.detach(key)
    }

    /// Performs the first half of a pass of the event loop, when the socket is ready: reads, and delivers the received
    /// events before anything is written.
    func receive(_ readiness: Poller.Readiness, now: MonotonicTime) {
        self.now = now
        guard !self.isFinished else { return }
        self.resumeReading()
        self.read(readiness)
        self.deliver()
    }

    /// Performs the second half of a pass of the event loop: performs commands, writes, and handles deadlines.
    ///
    /// - Returns: The time at which the next pass is due even without an event.
    func service(_ readiness: Poller.Readiness, now: MonotonicTime) -> MonotonicTime? {
        self.now = now
        guard !self.isFinished else { return nil }
        self.takeCommands()
        self.resumeReading()
        self.read([])
        self.link?.withholding.looked(at: self.sink.receivedCount, now: now)
        self.endStalledPacket()
        self.performCommands()
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
        case .deliver(.connected(let connection, let sessionPresent)):
            self.becomeConnected(connection, sessionPresent: sessionPresent)
        case .deliver(.disconnected(let disconnection)): self.becomeDisconnected(disconnection)
        case .deliver(let event): self.sink.batch.append(event)
        case .finish: self.finish()
        }
    }

    private func becomeConnected(_ connection: Int, sessionPresent: Bool) {
        self.accepted.connection = connection
        self.link?.handle?.stopListeningToComplaints()
        self.nextKeepAlive = self.now.advanced(by: self.keepAliveInterval)
        self.reading.since = self.now
        self.sink.batch.prepend(.connected(connection: connection, sessionPresent: sessionPresent))
        self.logConnected(connection, sessionPresent: sessionPresent)
    }

    private func becomeDisconnected(_ disconnection: Disconnection) {
        self.sending = Sending()
        self.sink.inFlight.removeAll()
        self.nextKeepAlive = nil
        self.sink.batch.append(.disconnected(disconnection))
        self.logDisconnected(disconnection)
    }

    private func finish() {
        self.closeLink()
        self.deliver()
        self.events.finish()
        guard case .running(let waiting) = self.completion else { return }
        self.completion = .finished
        waiting?.resume()
    }

    /// Delivers the events that were collected during a pass to the role.
    func deliver() {
        guard !self.sink.batch.isEmpty else { return }
        let bytes = self.sink.batch.byteCount
        let hasRoom = self.events.append(self.sink.batch.take(), bytes: bytes, connection: self.accepted.connection)
        if !hasRoom, !self.reading.isHeldBack {
            self.reading.isHeldBack = true
            self.watchSocket()
        }
    }

    private func resumeReading() {
        guard self.reading.isHeldBack, self.events.hasRoom else { return }
        self.reading.isHeldBack = false
        self.reading.since = self.now
    }

    private func watchAnswers() {
        let oldest = self.reading.isHeldBack ? nil : self.sink.inFlight.oldest
        self.machine.answersAwaited(since: oldest.map { max($0, self.reading.since) })
    }
}
