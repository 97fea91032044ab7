import Dispatch
import SystemLibrary
import Synchronization
import TrackingCore

/// One connection to PostgreSQL and the thread that uses it. The thread connects when a call needs the connection, and
/// again after the connection was lost.
final class PostgresThread: Sendable {
    /// Configures a new connection, and makes the tables where the database has none.
    typealias Preparation = @Sendable (PostgresConnection) throws(TrackingError) -> Void

    private let address: String
    private let patience: Duration?
    private let subject: String
    private let prepare: Preparation
    private let thread: DispatchQueue
    private let connection = Mutex<PostgresConnection?>(nil)
    private let underWay = Mutex(UnderWay())

    /// The call that uses the connection now. When its task is cancelled, another thread closes the connection's
    /// socket.
    private struct UnderWay {
        /// The number of calls that were made on this connection's thread so far. It gives each call its number.
        var calls: UInt64 = 0
        /// The number of the call that uses the connection now; `nil` for none.
        var call: UInt64?
        /// The file descriptor of the socket to PostgreSQL that the call in progress uses; `nil` while no call uses the
        /// connection.
        var socket: Int32?
    }

    /// Creates a thread without a connection to the server. The first call makes the connection.
    ///
    /// - Parameters:
    ///   - address: The address of the server.
    ///   - name: The name of the thread in a debugger.
    ///   - patience: The time that a call waits for the server's answer; `nil` for no limit.
    ///   - isForStoring: `true` for a connection that stores: its calls wait for locks no longer than
    ///     ``PostgresConnection/lockTimeout``.
    ///   - mayMake: `true` to make the tables of a history where the database has none.
    convenience init(_ address: String, name: String, patience: Duration? = nil, isForStoring: Bool, mayMake: Bool) {
        self.init(address, name: name, patience: patience, subject: "the history") {
            connection throws(TrackingError) in
            try PostgresHistorySchema.prepare(connection, mayMake: mayMake)
            if isForStoring { try connection.limitWaiting() }
        }
    }

    /// Creates a thread without a connection to the server. The first call makes the connection.
    ///
    /// - Parameters:
    ///   - address: The address of the server.
    ///   - name: The name of the thread in a debugger.
    ///   - patience: The time that a call waits for the server's answer; `nil` for no limit.
    ///   - subject: The name of the data in the database, for errors, such as `the history`.
    ///   - prepare: Configures each new connection.
    init(
        _ address: String, name: String, patience: Duration?, subject: String, prepare: @escaping Preparation
    ) {
        self.address = address
        self.patience = patience
        self.subject = subject
        self.prepare = prepare
        self.thread = DispatchQueue(label: name)
    }

    /// Runs `body` with the connection on the connection's thread. A failed transaction is rolled back and not
    /// repeated.
    ///
    /// When the task is cancelled or its time for an answer is over, the call throws `storeFailed` at once. If it uses
    /// the connection, the connection is closed, so that it does not wait for a server that does not answer.
    ///
    /// - Throws: `storeFailed` without an answer; the errors of connecting to the server, and of `body`.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(TrackingError) -> Value
    ) async throws(TrackingError) -> Value {
        guard let patience = self.patience else { return try await self.answer(body).get() }
        let result = await withTaskGroup { group in
            group.addTask { await self.answer(body) }
            group.addTask {
                try? await Task.sleep(for: patience)
                return .failure(
                    TrackingError(
                        .storeFailed,
                        "cannot use \(self.subject): PostgreSQL gave no answer within \(patience). Check the database server and the network"
                    ))
            }
            defer { group.cancelAll() }
            return await group.next()
        }
        guard let result else {
            throw TrackingError(
                .storeFailed,
                "cannot use \(self.subject): this program cancelled its own request before PostgreSQL received it. Try again"
            )
        }
        return try result.get()
    }

    private func answer<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(TrackingError) -> Value
    ) async -> Result<Value, TrackingError> {
        let call = PostgresCall<Value>()
        let number = self.underWay.withLock {
            $0.calls += 1
            return $0.calls
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                call.wait(continuation)
                self.thread.async {
                    guard call.isWaitedFor else { return }
                    call.answer(self.attempt(number, call, body))
                }
            }
        } onCancel: {
            let error = TrackingError(
                .storeFailed,
                "cannot use \(self.subject): this program cancelled its own request before PostgreSQL answered. Try again"
            )
            call.answer(.failure(error))
            self.underWay.withLock {
                if $0.call == number, let socket = $0.socket { shutdown(socket, Int32(SHUT_RDWR)) }
            }
        }
    }

    /// Returns `true` if the server accepts connections, even if it rejects this user.
    func isServed() async -> Bool {
        await withCheckedContinuation { continuation in
            self.thread.async { continuation.resume(returning: PostgresConnection.isServed(self.address)) }
        }
    }

    private func attempt<Value>(
        _ number: UInt64, _ call: PostgresCall<Value>, _ body: (PostgresConnection) throws(TrackingError) -> Value
    ) -> Result<Value, TrackingError> {
        self.connection.withLock { open in
            do throws(TrackingError) {
                let connection = if let open { open } else { try PostgresConnection(self.address, to: self.subject) }
                self.note(number, connection.socket)
                // A released connection closes its socket, and the system may reuse the descriptor.
                defer { withExtendedLifetime(connection) { self.note(nil, nil) } }
                // The caller may have been cancelled while the connection was made.
                guard call.isWaitedFor else {
                    throw TrackingError(
                        .storeFailed,
                        "cannot use \(self.subject): the program cancelled its request while it was connecting to PostgreSQL. Try again"
                    )
                }
                if open == nil {
                    try self.prepare(connection)
                    open = connection
                }
                return .success(try body(connection))
            } catch {
                if let connection = open, connection.isInTransaction { try? connection.runAll("ROLLBACK") }
                if open?.isAlive == false { open = nil }
                return .failure(error)
            }
        }
    }

    private func note(_ number: UInt64?, _ socket: Int32?) {
        self.underWay.withLock { ($0.call, $0.socket) = (number, socket) }
    }

    /// Closes the connection to the server. If a call still uses the connection, shuts the socket down instead, so that
    /// the call fails. Does not wait for that call.
    func close() {
        guard self.connection.withLockIfAvailable({ $0 = nil }) == nil else { return }
        self.underWay.withLock { if let socket = $0.socket { shutdown(socket, Int32(SHUT_RDWR)) } }
    }
}

/// A call on a connection's thread whose result a task waits for. The call is answered by its result or by the
/// cancellation of the task; only the first answer counts.
private final class PostgresCall<Value: Sendable>: Sendable {
    private typealias Answer = Result<Value, TrackingError>

    private enum State {
        case new
        case waiting(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    private let state = Mutex(State.new)

    var isWaitedFor: Bool {
        self.state.withLock { if case .waiting = $0 { true } else { false } }
    }

    func wait(_ continuation: CheckedContinuation<Result<Value, TrackingError>, Never>) {
        let answer: Answer? = self.state.withLock { state in
            if case .answered(let answer) = state { return answer }
            state = .waiting(continuation)
            return nil
        }
        if let answer { continuation.resume(returning: answer) }
    }

    func answer(_ answer: Result<Value, TrackingError>) {
        let continuation: CheckedContinuation<Answer, Never>? = self.state.withLock { state in
            defer { state = .answered(answer) }
            return if case .waiting(let continuation) = state { continuation } else { nil }
        }
        continuation?.resume(returning: answer)
    }
}
