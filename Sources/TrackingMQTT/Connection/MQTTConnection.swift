import CMosquitto
import Logging
import TrackingCore
import TrackingRuntime

/// The driver of one client's connection to the broker. It performs the actions that its ``ConnectionStateMachine``
/// decides, such as connecting, and reports their outcomes to the state machine.
///
/// The connection runs on the thread of its event loop, once in each pass of the loop. It reads the received bytes,
/// delivers them to the program as one batch of events, and then writes the program's commands.
actor MQTTConnection {
    /// One attempt to connect, and the connection that results from it: its endpoint, TLS, socket and progress.
    struct Link {
        let attempt: ConnectionStateMachine.Attempt
        let endpoint: MQTTEndpoint
        /// The IP addresses of the broker that this attempt has not tried yet.
        var addresses: ArraySlice<String> = []
        var tls: TLSContext?
        var handle: MosquittoHandle?
        /// The socket events (readable, writable) that the poller watches for this connection; `nil` before the first
        /// registration.
        var interest: Poller.Readiness?
        /// `true` once the socket, and TLS if used, is connected, so that MQTT packets can be exchanged.
        var isUp = false
        /// `true` once the broker has accepted the connection.
        var isAccepted = false
        var withholding = Withholding()
        var arrival = PacketArrival()
    }

    /// The state of sending: the program's commands that were not performed yet, and the progress of the command that
    /// is being performed.
    struct Sending {
        var backlog = Backlog()
        /// `true` while the last command contained a suspect, a topic after which the broker may have closed the
        /// connection. Nothing else is sent until the broker has answered it.
        var isHeldForSuspect = false
        /// The subscription that is being sent in several packets; `nil` for none.
        var split: SplitSubscription?
    }

    /// The number of the connection that the broker accepted last, and its limit of unanswered publishes.
    struct Accepted {
        /// The number of the connection that the broker accepted last, counted from 0; -1 before the first.
        var connection = -1
        /// The number of publishes that may wait for the broker's acknowledgement at the same time: the lower of this
        /// client's own limit and the broker's.
        var window = 0
    }

    /// The state of reading from the broker: whether reading has stopped, and the time at which it last began or
    /// resumed.
    struct Reading {
        /// `true` while the connection reads nothing because the program has too many unread events. A few bytes are
        /// read nevertheless each time that a ping may be due, so that the connection stays alive.
        var isHeldBack = false
        /// The time at which reading began or resumed. The timeout of the broker's answers counts from this time at the
        /// earliest, because an answer cannot be seen while nothing is read.
        var since = MonotonicTime(.zero)
    }

    /// The number of the newest lookup of the broker's host names, and for each endpoint the IP address to try first.
    struct Addresses {
        /// The number of the newest lookup of a broker's host name. A lookup with a lower number was abandoned, and its
        /// result is ignored.
        var lookups = 0
        /// For each endpoint of the broker (by its index), the index of the IP address that the next attempt to connect
        /// tries first. It advances after an attempt that failed.
        var offsets: [Int: Int] = [:]
    }

    /// The client's credentials, and the question to their provider.
    struct Credentials {
        /// The credentials of the last attempt to connect, and of the connection that resulted from it.
        var used: MQTTCredentials?
        /// The credentials that the provider returned last, for the next attempt to connect.
        var next: MQTTCredentials?
        /// The number of requests to the provider of the credentials, which is also the number of the newest request.
        /// The answers to earlier requests are ignored.
        var questions = 0
        /// The task that asks the provider; `nil` if no question is unanswered.
        var asking: Task<Void, Never>?
    }

    private enum Completion {
        /// The client has not ended, with or without a connection to the broker. The continuation is that of the task
        /// in ``MQTTConnection/run()``, which waits until the client ends; `nil` before the task waits.
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
    /// The socket of the last connection, from the DISCONNECT until the broker has closed it; `nil` at any other time.
    var closing: ClosingSocket?
    var sending = Sending()
    var accepted = Accepted()
    var reading = Reading()
    var addresses = Addresses()
    var credentials = Credentials()
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

    /// Runs the client: connects, reconnects after a loss, and returns when the connection was closed for good.
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

    /// Performs the first half of a pass of the event loop for this connection: reads from the socket, and delivers the
    /// received events to the program. The program can thereby react before anything is written.
    func receive(_ readiness: Poller.Readiness, now: MonotonicTime) {
        self.now = now
        guard !self.isFinished else { return }
        self.resumeReading()
        self.read(readiness)
        self.finishClosing()
        self.deliver()
    }

    /// Performs the second half of a pass of the event loop for this connection: performs the program's commands,
    /// writes to the socket, and handles deadlines.
    ///
    /// - Returns: The time at which the next pass is due even if nothing happens; `nil` for no such time.
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
        case .askForCredentials: self.askForCredentials()
        case .connect(let attempt): self.connect(attempt)
        case .abandon: self.abandon()
        case .sendGoodbye: self.sendGoodbye()
        case .deliver(.connected(let connection, let sessionPresent, let broker)):
            self.becomeConnected(connection, sessionPresent: sessionPresent, broker: broker)
        case .deliver(.disconnected(let disconnection)): self.becomeDisconnected(disconnection)
        case .deliver(let event): self.sink.batch.append(event)
        case .finish: self.finish()
        }
    }

    private func becomeConnected(_ connection: Int, sessionPresent: Bool, broker: Int) {
        self.accepted.connection = connection
        self.link?.handle?.stopListeningToComplaints()
        self.nextKeepAlive = self.now.advanced(by: self.keepAliveInterval)
        self.reading.since = self.now
        self.sink.batch.prepend(
            .connected(connection: connection, sessionPresent: sessionPresent, broker: broker))
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
        self.abandonQuestion()
        self.deliver()
        self.events.finish()
        guard case .running(let waiting) = self.completion else { return }
        self.completion = .finished
        waiting?.resume()
    }

    /// Delivers the events that were collected in this pass of the event loop to the program. If the program's queue of
    /// events is full then, reading from the broker stops.
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
