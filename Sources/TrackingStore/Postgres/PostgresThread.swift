import Dispatch
import Glibc
import Synchronization
import TrackingCore

/// One connection and the thread that uses it; connects when it is needed, and again after the connection was lost.
final class PostgresThread: Sendable {
    private let address: String
    private let thread: DispatchQueue
    private let connection = Mutex<PostgresConnection?>(nil)
    private let underWay = Mutex(UnderWay())

    /// What another thread may end.
    private struct UnderWay {
        /// How many calls there were.
        var calls: UInt64 = 0
        /// The call that uses the connection now.
        var call: UInt64?
        /// What it waits on, once it is connected.
        var socket: Int32?
    }

    init(_ address: String, name: String) {
        self.address = address
        self.thread = DispatchQueue(label: name)
    }

    /// Does something with the connection. What failed is rolled back; nothing is tried twice. A task that is cancelled does not wait
    /// for a server that does not answer: the connection ends, and what was under way with it.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(TrackingError) -> Value
    ) async throws(TrackingError) -> Value {
        let call = self.underWay.withLock {
            $0.calls += 1
            return $0.calls
        }
        let result: Result<Value, TrackingError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.thread.async { continuation.resume(returning: self.attempt(call, body)) }
            }
        } onCancel: {
            self.underWay.withLock {
                if $0.call == call, let socket = $0.socket { shutdown(socket, Int32(SHUT_RDWR)) }
            }
        }
        return try result.get()
    }

    /// Whether the server takes connections, whoever it refuses.
    func isServed() async -> Bool {
        await withCheckedContinuation { continuation in
            self.thread.async { continuation.resume(returning: PostgresConnection.isServed(self.address)) }
        }
    }

    private func attempt<Value>(
        _ call: UInt64, _ body: (PostgresConnection) throws(TrackingError) -> Value
    ) -> Result<Value, TrackingError> {
        self.connection.withLock { open in
            do throws(TrackingError) {
                if open == nil { open = try self.connect() }
                guard let connection = open else { throw TrackingError(.storeFailed, "no connection to PostgreSQL") }
                self.note(call, connection.socket)
                defer { self.note(nil, nil) }
                return .success(try body(connection))
            } catch {
                if let connection = open, connection.isInTransaction { try? connection.runAll("ROLLBACK") }
                if open?.isAlive == false { open = nil }
                return .failure(error)
            }
        }
    }

    private func note(_ call: UInt64?, _ socket: Int32?) {
        self.underWay.withLock { ($0.call, $0.socket) = (call, socket) }
    }

    private func connect() throws(TrackingError) -> PostgresConnection {
        let connection = try PostgresConnection(self.address)
        try PostgresHistorySchema.prepare(connection)
        return connection
    }

    /// Closes the connection.
    func close() { self.connection.withLock { $0 = nil } }
}
