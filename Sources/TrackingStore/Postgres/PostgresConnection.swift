import CPostgres
import SystemLibrary
import TrackingCore

/// One connection to a PostgreSQL server, through libpq. It is used by one thread at a time.
// @unchecked: its properties never change, and libpq's state is used only under the lock of a `PostgresThread` or on the
// serial queue of `PostgresChanges`.
final class PostgresConnection: @unchecked Sendable {
    private let pointer: OpaquePointer
    /// The name of the data in the database, for errors, such as `the history`.
    private let subject: String

    /// Connects to a PostgreSQL server, waiting at most 10 s. If the address has several servers, connects to the first
    /// one that can be written, waiting at most 3 s for each. A server that stops answering is given up after 15 s. The
    /// address may set other times.
    ///
    /// - Parameters:
    ///   - address: A URL (`postgres://…`) or another connection string of libpq.
    ///   - subject: The name of the data in the database, for errors.
    /// - Throws: `invalidConfiguration` when the address cannot be read, or there is no certificate to verify the
    ///   server with; `storeFailed`. No error contains the address, which may have a password.
    init(_ address: String, to subject: String = "the history") throws(TrackingError) {
        self.subject = subject
        try Self.check(address, of: subject)
        guard let pointer = Self.withOptions(address, { PQconnectdbParams($0, $1, 1) }) else {
            throw TrackingError(
                .storeFailed,
                "cannot connect to PostgreSQL: this program has no memory left. Free memory, and try again")
        }
        self.pointer = pointer
        guard PQstatus(pointer) == CONNECTION_OK else { throw self.refusal() }
    }

    /// Returns the error for a connection that could not be made. If TLS or the server's certificate is the cause, the
    /// error contains a remedy.
    private func refusal() -> TrackingError {
        let error = self.failure("cannot use \(self.subject): PostgreSQL cannot be reached")
        let message = String(cString: PQerrorMessage(self.pointer))
        guard let remedy = PostgresProtection.remedy(for: message) else { return error }
        let code: TrackingError.Code =
            PostgresProtection.lacksRootCertificate(message) ? .invalidConfiguration : error.code
        return TrackingError(code, "\(error.message): \(remedy)")
    }

    /// Returns `true` if the server at an address accepts connections, even if it rejects this user.
    static func isServed(_ address: String) -> Bool {
        self.withOptions(address) { PQpingParams($0, $1, 1) == PQPING_OK }
    }

    /// Returns `true` if an address names several servers. Only one of them can usually be written.
    static func hasSeveralServers(_ address: String) -> Bool {
        self.hasSeveralServers(self.options(of: address) ?? [:])
    }

    private static func hasSeveralServers(_ options: [String: String]) -> Bool {
        (options["host"] ?? options["hostaddr"])?.contains(",") == true
    }

    /// The values of those environment variables of this program that decide how the connection is protected
    /// (``PostgresProtection/variables``). Variables that are not set are left out.
    private static var environment: [String: String] {
        var environment: [String: String] = [:]
        for name in PostgresProtection.variables { environment[name] = getenv(name).map { String(cString: $0) } }
        return environment
    }

    private static func withOptions<Value>(
        _ address: String,
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        var options: [(String, String)] = [
            ("connect_timeout", "10"), ("tcp_user_timeout", "15000"), ("keepalives_idle", "5"),
            ("keepalives_interval", "5"), ("keepalives_count", "3"), ("application_name", "godwit"),
        ]
        let given = Self.options(of: address) ?? [:]
        if Self.hasSeveralServers(given) {
            options += [("connect_timeout", "3"), ("target_session_attrs", "read-write")]
        }
        let mode = PostgresProtection.mode(options: given, environment: Self.environment)
        if let mode { options.append(("sslmode", mode)) }
        // Of repeated options, libpq uses the last one, which is that of the address.
        options.append(("dbname", address))
        let keys: [UnsafePointer<CChar>?] = options.map { UnsafePointer(strdup($0.0)) } + [nil]
        let values: [UnsafePointer<CChar>?] = options.map { UnsafePointer(strdup($0.1)) } + [nil]
        defer { for text in keys + values { free(UnsafeMutablePointer(mutating: text)) } }
        return body(keys, values)
    }

    /// Rejects an address whose password contains an unescaped special character. libpq would take the rest of the
    /// password for a port, a host or a database, and show it in an error.
    private static func check(_ address: String, of subject: String) throws(TrackingError) {
        let unreadable = TrackingError(
            .invalidConfiguration,
            "the address of \(subject) in PostgreSQL cannot be read: in a password, write / as %2F, @ as %40, : as %3A, ? as %3F, % as %25"
        )
        guard let options = Self.options(of: address) else { throw unreadable }
        for (keyword, value) in options {
            let isReadable =
                switch keyword {
                case "port": value.split(separator: ",").allSatisfy { UInt16($0) != nil }
                // A host that begins with @ is an abstract socket.
                case "host": !value.dropFirst().contains("@")
                case "dbname": !value.contains("@")
                default: true
                }
            guard isReadable else { throw unreadable }
        }
    }

    /// Returns the options that an address contains, by libpq's keywords; `nil` if the address cannot be read.
    private static func options(of address: String) -> [String: String]? {
        guard let options = PQconninfoParse(address, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var named: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { named[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return named
    }

    deinit { PQfinish(self.pointer) }

    /// `true` if the connection to the server was open, as far as libpq knows from its last call.
    var isAlive: Bool { PQstatus(self.pointer) == CONNECTION_OK }
    /// The file descriptor of the socket of this connection to the server.
    var socket: Int32 { PQsocket(self.pointer) }
    /// `true` if a transaction is open or has failed, if a statement is running, or if the connection is broken.
    /// `false` if the connection is idle outside of a transaction.
    var isInTransaction: Bool { PQtransactionStatus(self.pointer) != PQTRANS_IDLE }

    /// Runs one statement with values for its parameters, and returns its result in binary form.
    @discardableResult
    func run(_ sql: String, _ values: [PostgresValue] = []) throws(TrackingError) -> PostgresRows {
        let result = Self.withParameters(values) { types, places, lengths, formats in
            PQexecParams(self.pointer, sql, Int32(values.count), types, places, lengths, formats, 1)
        }
        return try self.rows(result)
    }

    /// Sends one statement with values for its parameters to the server, and returns without waiting for its result.
    /// The next call must be ``sentRows()``, which waits for the result.
    func send(_ sql: String, _ values: [PostgresValue]) throws(TrackingError) {
        let code = Self.withParameters(values) { types, places, lengths, formats in
            PQsendQueryParams(self.pointer, sql, Int32(values.count), types, places, lengths, formats, 1)
        }
        guard code == 1 else { throw self.failure("cannot use \(self.subject): PostgreSQL failed to run a statement") }
    }

    /// Waits for the result of the statement that ``send(_:_:)`` sent, and returns it in binary form.
    func sentRows() throws(TrackingError) -> PostgresRows {
        let result = PQgetResult(self.pointer)
        while let more = PQgetResult(self.pointer) { PQclear(more) }
        return try self.rows(result)
    }

    /// Runs `body` with the values in the form of libpq: their types, their bytes, and the lengths and formats of these.
    private static func withParameters<Value>(
        _ values: [PostgresValue],
        _ body: (
            UnsafePointer<Oid>, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>
        ) -> Value
    ) -> Value {
        let places: [UnsafePointer<CChar>?] = values.map { value in
            guard let bytes = value.bytes else { return nil }
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: max(1, bytes.count))
            for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
            return UnsafePointer(copy)
        }
        defer { for place in places { place?.deallocate() } }
        let lengths = values.map { Int32($0.bytes?.count ?? 0) }
        return body(values.map(\.type), places, lengths, values.map { _ in Int32(1) })
    }

    /// Runs one or several statements without parameters, one after the other. Their results are dropped.
    func runAll(_ sql: String) throws(TrackingError) { _ = try self.rows(PQexec(self.pointer, sql)) }

    /// The maximum time for which storing waits for a lock. After it, nothing is stored. The failure is reported, and
    /// the recorder tries again.
    static let lockTimeout = Duration.seconds(10)

    /// Limits the time for which statements on this connection wait for a lock to ``lockTimeout``.
    func limitWaiting() throws(TrackingError) {
        try self.runAll("SET lock_timeout = '\(Self.lockTimeout.components.seconds)s'")
    }

    /// Runs `body` on this connection without a limit for the time that its statements wait for locks. Then rolls back
    /// a transaction that is still open, and restores the limit.
    func waitingForLocks<Value>(_ body: () throws(TrackingError) -> Value) throws(TrackingError) -> Value {
        try self.runAll("SET lock_timeout = 0")
        defer {
            if self.isInTransaction { try? self.runAll("ROLLBACK") }
            try? self.limitWaiting()
        }
        return try body()
    }

    /// Sends SQL statements without parameters to the server, and returns without waiting for their results. The next
    /// call must be ``sentCount()``, which waits for the results and reads them.
    func send(_ sql: String) throws(TrackingError) {
        guard PQsendQuery(self.pointer, sql) == 1 else {
            throw self.failure("cannot use \(self.subject): PostgreSQL failed to run a statement")
        }
    }

    /// Waits for the results of the statements that ``send(_:)`` sent.
    ///
    /// - Returns: The number of rows that the last statement returned.
    func sentCount() throws(TrackingError) -> Int {
        var count = 0
        var failure: TrackingError?
        while let result = PQgetResult(self.pointer) {
            do throws(TrackingError) { count = try self.rows(result).count } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return count
    }

    /// `true` while a statement of ``send(_:)`` has no complete answer that was read.
    var isAwaitingAnswer: Bool { PQtransactionStatus(self.pointer) == PQTRANS_ACTIVE }

    /// Reads the notifications that the server sent since the last call, and drops the results of sent statements.
    ///
    /// - Returns: The number of notifications; `nil` if the connection is lost.
    func readNotifications() -> Int? {
        guard PQconsumeInput(self.pointer) == 1 else { return nil }
        while PQisBusy(self.pointer) == 0, let result = PQgetResult(self.pointer) { PQclear(result) }
        guard self.isAlive else { return nil }
        var count = 0
        while let notification = PQnotifies(self.pointer) {
            PQfreemem(notification)
            count += 1
        }
        return count
    }

    /// Runs `COPY … FROM STDIN (FORMAT binary)` with the given bytes, and the statements that follow it in `sql`.
    ///
    /// - Returns: The server's tag of the last command, for example `COPY 3` or `COMMIT`.
    @discardableResult
    func copy(_ sql: String, _ bytes: [UInt8]) throws(TrackingError) -> String {
        guard let begun = PQexec(self.pointer, sql) else {
            throw self.failure(Self.copying)
        }
        defer { PQclear(begun) }
        guard PQresultStatus(begun) == PGRES_COPY_IN else {
            throw self.failure(Self.copying, begun)
        }
        let sent = bytes.withUnsafeBytes { buffer in
            // The bytes are sent in parts, because one call accepts at most 2 GiB.
            stride(from: 0, to: buffer.count, by: 1 << 20).allSatisfy { start in
                let part = buffer[start..<min(buffer.count, start + 1 << 20)]
                return UnsafeRawBufferPointer(rebasing: part).withMemoryRebound(to: CChar.self) {
                    PQputCopyData(self.pointer, $0.baseAddress, Int32($0.count)) == 1
                }
            }
        }
        guard sent, PQputCopyEnd(self.pointer, nil) == 1 else {
            throw self.failure(Self.copying)
        }
        var failure: TrackingError?
        var last = ""
        while let result = PQgetResult(self.pointer) {
            if PQresultStatus(result) != PGRES_COMMAND_OK { failure = self.failure(Self.copying, result) }
            last = String(cString: PQcmdStatus(result))
            PQclear(result)
        }
        if let failure { throw failure }
        return last
    }

    /// The first part of the message of the error for a failed `COPY`, before the reason.
    private static let copying = "cannot store records with COPY in PostgreSQL"

    private func rows(_ result: OpaquePointer?) throws(TrackingError) -> PostgresRows {
        guard let result else { throw self.failure("cannot use \(self.subject): PostgreSQL failed to run a statement") }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: return PostgresRows(result)
        default:
            defer { PQclear(result) }
            throw self.failure("cannot use \(self.subject): PostgreSQL failed to run a statement", result)
        }
    }

    /// Returns the error code for a failed statement, by the SQLSTATE of the server. The code is `storeRefused` if the
    /// record is the cause: a data exception, a violated constraint or an exceeded limit. It is `storeForbidden` if the
    /// database user lacks a privilege, and `storeFailed` otherwise.
    private static func code(of result: OpaquePointer?) -> TrackingError.Code {
        guard let result, let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map({ String(cString: $0) })
        else { return .storeFailed }
        if state == "42501" { return .storeForbidden }
        return ["22", "23", "54"].contains(state.prefix(2)) ? .storeRefused : .storeFailed
    }

    /// Returns an error with the first line of the message of the server or libpq. The following lines may
    /// contain values.
    private func failure(_ what: String, _ result: OpaquePointer? = nil) -> TrackingError {
        let text = String(cString: result.map { PQresultErrorMessage($0) } ?? PQerrorMessage(self.pointer))
        return TrackingError(Self.code(of: result), "\(what): \(text.split(separator: "\n").first ?? "no answer")")
    }
}
