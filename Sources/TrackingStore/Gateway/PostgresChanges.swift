import Dispatch
import Synchronization
import SystemLibrary
import TrackingCore

/// Wakes waiting tasks after each committed write to a gateway's database in PostgreSQL, by any gateway or command.
///
/// Each write sends a notification (`NOTIFY`), which the server delivers after the commit. A connection of its own
/// receives the notifications (`LISTEN`) while there are waiting tasks. Notifications that are sent while the connection
/// is lost do not arrive, so the tasks are woken after each connection as well. A lost host or a firewall can end a
/// connection without a message to this side, so the connection is checked regularly with a statement.
final class PostgresChanges: Sendable {
    /// The time between two attempts to connect to the server.
    private static let backoff = DispatchTimeInterval.seconds(1)
    /// The time between two checks of the connection. A connection that has not answered a check until the next one
    /// counts as lost. Two intervals are less than the 2 s within which a revocation has to end the live streams.
    private static let checkInterval = DispatchTimeInterval.milliseconds(750)

    private struct State {
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextKey = 0
        /// `true` while a connection exists or is attempted.
        var isListening = false
        /// The source that reads the notifications of the connection; `nil` without a connection.
        var source: (any DispatchSourceRead)?
        /// The timer that checks the connection; `nil` without a connection.
        var timer: (any DispatchSourceTimer)?
    }

    private let address: String
    private let queue = DispatchQueue(label: "godwit.gateway.changes")
    private let state = Mutex(State())

    init(_ address: String) { self.address = address }

    deinit { self.close() }

    /// Returns a stream that yields after each commit to the database. Several commits are yielded as one while no task
    /// reads the stream.
    func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (key, isFirst) = self.state.withLock { state in
            state.nextKey += 1
            state.streams[state.nextKey] = continuation
            defer { state.isListening = true }
            return (state.nextKey, !state.isListening)
        }
        continuation.onTermination = { [weak self] _ in self?.remove(key) }
        let connect: @Sendable () -> Void = { [weak self] in self?.connect() }
        if isFirst { self.queue.async(execute: connect) }
        return stream
    }

    /// Ends the streams, and closes the connection.
    func close() {
        let streams = self.state.withLock { state in
            Self.cancel(&state)
            defer { state.streams = [:] }
            return state.streams
        }
        for continuation in streams.values { continuation.finish() }
    }

    /// Connects to the server, and again after ``backoff`` if that fails. Runs on the queue.
    private func connect() {
        let isAwaited = self.state.withLock { state in
            state.isListening = !state.streams.isEmpty
            return state.isListening && state.source == nil
        }
        guard isAwaited else { return }
        guard let connection = try? PostgresConnection(self.address, to: PostgresEngine.subject),
            (try? connection.runAll("\(PostgresHistorySchema.session); LISTEN \(PostgresEngine.schema)")) != nil
        else { return self.connectLater() }
        self.state.withLock { self.listen(to: connection, &$0) }
        self.wake()
    }

    private func listen(to connection: PostgresConnection, _ state: inout State) {
        state.isListening = !state.streams.isEmpty
        guard state.isListening else { return }
        // libpq closes its own descriptor when the connection fails. A source needs one that is open until it is
        // cancelled.
        let descriptor = dup(connection.socket)
        guard descriptor >= 0 else { return self.connectLater() }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: self.queue)
        let read: @Sendable () -> Void = { [weak self] in _ = self?.read(connection) }
        source.setEventHandler(handler: DispatchWorkItem(block: read))
        let release: @Sendable () -> Void = { closeDescriptor(descriptor) }
        source.setCancelHandler(handler: DispatchWorkItem(block: release))
        let timer = DispatchSource.makeTimerSource(queue: self.queue)
        timer.schedule(deadline: .now() + Self.checkInterval, repeating: Self.checkInterval)
        let check: @Sendable () -> Void = { [weak self] in self?.check(connection) }
        timer.setEventHandler(handler: DispatchWorkItem(block: check))
        (state.source, state.timer) = (source, timer)
        source.activate()
        timer.activate()
    }

    /// Reads the input of the connection. Runs on the queue.
    ///
    /// - Returns: `false` if the connection is lost.
    private func read(_ connection: PostgresConnection) -> Bool {
        guard let count = connection.readNotifications() else {
            self.didLoseConnection(wait: Self.backoff)
            return false
        }
        if count > 0 { self.wake() }
        return true
    }

    /// Sends a statement to the server, unless the server has not answered the last one: then connects anew. Runs on the
    /// queue.
    private func check(_ connection: PostgresConnection) {
        // After a pause of this program, the answer may have arrived without having been read.
        guard self.read(connection) else { return }
        if connection.isAwaitingAnswer || (try? connection.send("SELECT")) == nil {
            self.didLoseConnection(wait: .seconds(0))
        }
    }

    private func connectLater(_ wait: DispatchTimeInterval = PostgresChanges.backoff) {
        let connect: @Sendable () -> Void = { [weak self] in self?.connect() }
        self.queue.asyncAfter(deadline: .now() + wait, execute: connect)
    }

    private func didLoseConnection(wait: DispatchTimeInterval) {
        self.state.withLock { Self.cancel(&$0) }
        self.connectLater(wait)
    }

    private static func cancel(_ state: inout State) {
        state.source?.cancel()
        state.timer?.cancel()
        (state.source, state.timer) = (nil, nil)
    }

    private func wake() {
        for continuation in self.state.withLock({ Array($0.streams.values) }) { continuation.yield() }
    }

    private func remove(_ key: Int) {
        self.state.withLock { state in
            state.streams[key] = nil
            guard state.streams.isEmpty, state.source != nil else { return }
            Self.cancel(&state)
            state.isListening = false
        }
    }
}

/// Closes a file descriptor. Within the class, `close` is a method.
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }
