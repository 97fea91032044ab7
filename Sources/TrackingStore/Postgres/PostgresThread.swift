import Dispatch
import Synchronization
import TrackingCore

/// One connection and the thread that uses it; connects when it is needed, and again after the connection was lost.
final class PostgresThread: Sendable {
    private let address: String
    private let thread: DispatchQueue
    private let connection = Mutex<PostgresConnection?>(nil)

    init(_ address: String, name: String) {
        self.address = address
        self.thread = DispatchQueue(label: name)
    }

    /// Does something with the connection. What failed is rolled back; nothing is tried twice.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws(TrackingError) -> Value
    ) async throws(TrackingError) -> Value {
        let result: Result<Value, TrackingError> = await withCheckedContinuation { continuation in
            self.thread.async { continuation.resume(returning: self.attempt(body)) }
        }
        return try result.get()
    }

    private func attempt<Value>(
        _ body: (PostgresConnection) throws(TrackingError) -> Value
    ) -> Result<Value, TrackingError> {
        self.connection.withLock { open in
            do throws(TrackingError) {
                if open == nil { open = try self.connect() }
                guard let connection = open else { throw TrackingError(.storeFailed, "no connection to PostgreSQL") }
                return .success(try body(connection))
            } catch {
                if let connection = open, connection.isInTransaction { try? connection.runAll("ROLLBACK") }
                if open?.isAlive == false { open = nil }
                return .failure(error)
            }
        }
    }

    private func connect() throws(TrackingError) -> PostgresConnection {
        let connection = try PostgresConnection(self.address)
        try PostgresHistorySchema.prepare(connection)
        return connection
    }

    /// Closes the connection.
    func close() { self.connection.withLock { $0 = nil } }
}
