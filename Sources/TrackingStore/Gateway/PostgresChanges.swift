import Dispatch
import Synchronization
import TrackingCore

/// Wakes waiting tasks after each committed write to a gateway's database in PostgreSQL, by any gateway or command.
///
/// Each write sends a notification (`NOTIFY`), which the server delivers after the commit. A connection of its own
/// receives the notifications (`LISTEN`) while there are waiting tasks. Notifications that are sent while the connection
/// is lost do not arrive, so the tasks are woken after each connection as well.
final class PostgresChanges: Sendable {
    /// The time between two attempts to connect to the server.
    private static let backoff = DispatchTimeInterval.seconds(1)

    private struct State {
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextKey = 0
        /// `true` while a connection exists or is attempted.
        var isListening = false
        /// The source that reads the notifications of the connection; `nil` without a connection.
        var source: (any DispatchSourceRead)?
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
            return state.isListening
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
        let source = DispatchSource.makeReadSource(fileDescriptor: connection.socket, queue: self.queue)
        let read: @Sendable () -> Void = { [weak self] in
            guard let count = connection.readNotifications() else { return self?.didLoseConnection() ?? () }
            if count > 0 { self?.wake() }
        }
        source.setEventHandler(handler: DispatchWorkItem(block: read))
        // The descriptor remains open until the source is cancelled.
        let release: @Sendable () -> Void = { withExtendedLifetime(connection) {} }
        source.setCancelHandler(handler: DispatchWorkItem(block: release))
        source.activate()
        state.source = source
    }

    private func connectLater() {
        let connect: @Sendable () -> Void = { [weak self] in self?.connect() }
        self.queue.asyncAfter(deadline: .now() + Self.backoff, execute: connect)
    }

    private func didLoseConnection() {
        self.state.withLock { Self.cancel(&$0) }
        self.connectLater()
    }

    private static func cancel(_ state: inout State) {
        state.source?.cancel()
        state.source = nil
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
