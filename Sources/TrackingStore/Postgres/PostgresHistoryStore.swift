import Synchronization
public import TrackingCore

/// A history in PostgreSQL with PostGIS, in the schema `godwit`. Several recorders can store the same trackables in it.
public final class PostgresHistoryStore: HistoryStore {
    let writer: PostgresThread
    let reader: PostgresThread
    let known = Mutex(PostgresLedger())
    /// The lease without which nothing is written; `nil` for a recorder that needs none.
    private let lease = Mutex<RecorderLease?>(nil)
    /// The number by which the history knows this program as its forwarder; `nil` if it has not begun to forward.
    let forwardingClaim = Mutex<Int64?>(nil)
    /// `true` after ``reconnect()``, until the next write empties the cache.
    private let isStale = Mutex(false)

    /// Opens a history. By default, makes it if the database has none.
    ///
    /// - Parameters:
    ///   - address: `postgres://user@host:port/database`, or another connection string of libpq. libpq's environment
    ///     variables and password file apply.
    ///   - mayMake: `false` to create nothing in the database.
    ///   - patience: The time that a call waits for an answer of the server before it throws `storeFailed`; `nil` to
    ///     wait without a limit.
    ///   - isAway: A closure that is called with the reason why the server cannot be reached, or why there is no history
    ///     yet. The initializer then succeeds, and every call throws `storeFailed` until the history can be used.
    /// - Throws: `invalidConfiguration` when the address cannot be read; `inputUnreadable` when the database has no
    ///   history and `mayMake` is `false`; `storeUnusable` when the history has another version, or the server rejects
    ///   the user, the password or the database, or has no PostGIS; `storeFailed` when the server cannot be reached.
    public init(
        address: String, mayMake: Bool = true, patience: Duration? = nil, isAway: ((TrackingError) -> Void)? = nil
    ) async throws(TrackingError) {
        self.writer = PostgresThread(
            address, name: "godwit.history.write", patience: patience, isForStoring: true, mayMake: mayMake)
        self.reader = PostgresThread(
            address, name: "godwit.history.read", patience: patience, isForStoring: false, mayMake: mayMake)
        do throws(TrackingError) {
            try await self.writer.perform { _ in }
        } catch {
            guard error.code == .storeFailed else { throw error }
            if error == PostgresHistorySchema.missing {
                guard let isAway else { throw TrackingError(.inputUnreadable, error.message) }
                isAway(error)
            } else if !PostgresConnection.hasSeveralServers(address), await self.writer.isServed() {
                // Of several servers, a replica accepts connections while none can be written yet.
                try await self.openServed()
            } else if let isAway {
                isAway(error)
            } else {
                throw error
            }
        }
    }

    /// Connects again to a server that accepts connections, and prepares the tables. If the server cannot be used this
    /// time either, throws `storeUnusable` in place of `storeFailed`.
    private func openServed() async throws(TrackingError) {
        do throws(TrackingError) {
            try await self.writer.perform { _ in }
        } catch {
            throw error.code == .storeFailed ? TrackingError(.storeUnusable, error.message) : error
        }
    }

    /// Stores a batch of records in one durable commit. See ``HistoryStore/store(_:)``.
    public func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport {
        do throws(TrackingError) {
            return try await self.store(batch, how: .copying)
        } catch {
            // A program that writes to the tables directly may have stored a point that the ledger does not contain.
            guard error.code == .storeRefused else { throw error }
            return try await self.store(batch, how: .comparing)
        }
    }

    private func store(
        _ batch: RecordingBatch, how: PostgresWriting.Points
    ) async throws(TrackingError) -> StoreReport {
        try await self.write { connection, known throws(TrackingError) in
            try known.makePartitions(for: batch, connection)
            let (changes, isAlone) = try known.begin(batch, connection)
            let writing = PostgresWriting(connection, how)
            try writing.writeRows(changes)
            if !isAlone { try known.noteChanges(of: changes, connection) }
            let new = try writing.commit(changes.points)
            return StoreReport(changes, newPoints: new)
        }
    }

    /// Runs `body` on the writing connection, together with the ledger, the cache of what the tables contain. `body`
    /// writes in one transaction. If the store requires a lease (``require(_:)``), it is checked first. After a failure, the cache is emptied.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection, inout PostgresLedger) throws(TrackingError) -> Value
    ) async throws(TrackingError) -> Value {
        let lease = self.lease.withLock { $0 }
        return try await self.writer.perform { connection throws(TrackingError) in
            let result: Result<Value, TrackingError> = self.known.withLock { known in
                do throws(TrackingError) {
                    if self.isStale.withLock({ isStale in
                        defer { isStale = false }
                        return isStale
                    }) {
                        known.failed()
                    }
                    try lease?.check(connection)
                    try known.lookForStandstill(connection)
                    return .success(try body(connection, &known))
                } catch {
                    known.failed()
                    return .failure(error)
                }
            }
            return try result.get()
        }
    }

    /// Returns the acknowledgement of a trackable: for each recent stream, the number up to which each record is
    /// stored, erased, quarantined, or gone from the device. See ``HistoryStore/acknowledgement(of:)``.
    public func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement {
        try await self.reader.perform { connection throws(TrackingError) in
            try PostgresLedger.load([trackable], connection).first?.trackable.acknowledgement
                ?? Acknowledgement(streams: [:])
        }
    }

    /// Lets the store write only while the recorder has a lease. Without the lease, each write throws `storeFailed`.
    public func require(_ lease: RecorderLease) { self.lease.withLock { $0 = lease } }

    /// Closes the connections to the server, and ends the calls that use them. The next call connects again, perhaps to
    /// another server of the address, and reads anew what the tables contain.
    public func reconnect() {
        self.writer.close()
        self.reader.close()
        // A write may be using the cache now, and waits for a server that does not answer.
        self.isStale.withLock { $0 = true }
    }

    /// Closes the two connections to the server, and ends calls that still use them. See ``HistoryStore/close()``.
    public func close() async throws(TrackingError) {
        self.writer.close()
        self.reader.close()
    }
}
