import CPostgres
import SystemLibrary
import TrackingCore

/// One connection to a server, through libpq. Everything happens on the thread that holds it.
final class PostgresConnection: @unchecked Sendable {  // only whoever holds the lock of its thread uses it
    private let pointer: OpaquePointer

    /// Connects, and waits for it at most 10 s; a server that vanishes without a word is given up after 15 s. What the
    /// address says of this counts.
    ///
    /// - Parameter address: A URL (`postgres://…`) or the words that libpq knows.
    /// - Throws: `invalidConfiguration` where the address cannot be read, or there is no certificate to verify the
    ///   server with;
    ///   `storeFailed`. None has the address in it, which may have a password.
    init(_ address: String) throws(TrackingError) {
        try Self.check(address)
        guard let pointer = Self.withOptions(address, { PQconnectdbParams($0, $1, 1) }) else {
            throw TrackingError(.storeFailed, "no memory for a connection to PostgreSQL")
        }
        self.pointer = pointer
        guard PQstatus(pointer) == CONNECTION_OK else { throw self.refusal() }
    }

    /// The reason why the connection could not be made, and the remedy where its protection is the reason.
    private func refusal() -> TrackingError {
        let error = self.failure("PostgreSQL cannot be reached")
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

    /// The variables of the environment that ``PostgresProtection`` knows.
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
        let mode = PostgresProtection.mode(
            options: Self.options(of: address) ?? [:], environment: Self.environment)
        if let mode { options.append(("sslmode", mode)) }
        // The last one counts: what the address says.
        options.append(("dbname", address))
        let keys: [UnsafePointer<CChar>?] = options.map { UnsafePointer(strdup($0.0)) } + [nil]
        let values: [UnsafePointer<CChar>?] = options.map { UnsafePointer(strdup($0.1)) } + [nil]
        defer { for text in keys + values { free(UnsafeMutablePointer(mutating: text)) } }
        return body(keys, values)
    }

    /// Refuses what libpq would tell a part of: a sign in a password that ends it early makes the rest of it a port, a
    /// host or a database.
    private static func check(_ address: String) throws(TrackingError) {
        let unreadable = TrackingError(
            .invalidConfiguration,
            "the address of the history in PostgreSQL cannot be read: in a password, write / as %2F, @ as %40, : as %3A, ? as %3F, % as %25"
        )
        guard let options = Self.options(of: address) else { throw unreadable }
        for (keyword, value) in options {
            let isReadable =
                switch keyword {
                case "port": value.split(separator: ",").allSatisfy { UInt16($0) != nil }
                // One that begins with the sign is an abstract socket.
                case "host": !value.dropFirst().contains("@")
                case "dbname": !value.contains("@")
                default: true
                }
            guard isReadable else { throw unreadable }
        }
    }

    /// The options that an address names, by libpq's keywords; `nil` where it cannot be read.
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

    /// `true` if the connection was open after the last call.
    var isAlive: Bool { PQstatus(self.pointer) == CONNECTION_OK }
    /// The descriptor of the connection's socket.
    var socket: Int32 { PQsocket(self.pointer) }
    /// `true` if a transaction is open or has failed.
    var isInTransaction: Bool { PQtransactionStatus(self.pointer) != PQTRANS_IDLE }

    /// Runs one statement; what it gives comes in binary form.
    @discardableResult
    func run(_ sql: String, _ values: [PostgresValue] = []) throws(TrackingError) -> PostgresRows {
        var places: [UnsafePointer<CChar>?] = values.map { value in
            guard let bytes = value.bytes else { return nil }
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: max(1, bytes.count))
            for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
            return UnsafePointer(copy)
        }
        defer { for place in places { place?.deallocate() } }
        var types = values.map(\.type)
        var lengths = values.map { Int32($0.bytes?.count ?? 0) }
        var formats = values.map { _ in Int32(1) }
        let result = PQexecParams(self.pointer, sql, Int32(values.count), &types, &places, &lengths, &formats, 1)
        return try self.rows(result)
    }

    /// Runs statements without values, one after the other.
    func runAll(_ sql: String) throws(TrackingError) { _ = try self.rows(PQexec(self.pointer, sql)) }

    /// So long one who stores waits for a lock: then nothing is stored, and it is said and tried again.
    static let lockTimeout = "10s"

    /// Waits for locks no longer than one who stores.
    func limitWaiting() throws(TrackingError) { try self.runAll("SET lock_timeout = '\(Self.lockTimeout)'") }

    /// Does something that waits for locks as long as that takes.
    func waitingForLocks<Value>(_ body: () throws(TrackingError) -> Value) throws(TrackingError) -> Value {
        try self.runAll("SET lock_timeout = 0")
        defer {
            if self.isInTransaction { try? self.runAll("ROLLBACK") }
            try? self.limitWaiting()
        }
        return try body()
    }

    /// Sends statements without values. What they give is read by ``sentCount()``, before anything else is done.
    func send(_ sql: String) throws(TrackingError) {
        guard PQsendQuery(self.pointer, sql) == 1 else { throw self.failure("PostgreSQL") }
    }

    /// Waits for what was sent.
    ///
    /// - Returns: How many rows the last statement gave.
    func sentCount() throws(TrackingError) -> Int {
        var count = 0
        var failure: TrackingError?
        while let result = PQgetResult(self.pointer) {
            do throws(TrackingError) { count = try self.rows(result).count } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return count
    }

    /// Does `COPY … FROM STDIN (FORMAT binary)`, and what may stand after it.
    ///
    /// - Returns: What the server says it did last: `COPY 3`, `COMMIT`.
    @discardableResult
    func copy(_ sql: String, _ bytes: [UInt8]) throws(TrackingError) -> String {
        guard let begun = PQexec(self.pointer, sql) else { throw self.failure("COPY") }
        defer { PQclear(begun) }
        guard PQresultStatus(begun) == PGRES_COPY_IN else { throw self.failure("COPY", begun) }
        let sent = bytes.withUnsafeBytes { buffer in
            // In parts: one call takes at most 2 GiB.
            stride(from: 0, to: buffer.count, by: 1 << 20).allSatisfy { start in
                let part = buffer[start..<min(buffer.count, start + 1 << 20)]
                return UnsafeRawBufferPointer(rebasing: part).withMemoryRebound(to: CChar.self) {
                    PQputCopyData(self.pointer, $0.baseAddress, Int32($0.count)) == 1
                }
            }
        }
        guard sent, PQputCopyEnd(self.pointer, nil) == 1 else { throw self.failure("COPY") }
        var failure: TrackingError?
        var last = ""
        while let result = PQgetResult(self.pointer) {
            if PQresultStatus(result) != PGRES_COMMAND_OK { failure = self.failure("COPY", result) }
            last = String(cString: PQcmdStatus(result))
            PQclear(result)
        }
        if let failure { throw failure }
        return last
    }

    private func rows(_ result: OpaquePointer?) throws(TrackingError) -> PostgresRows {
        guard let result else { throw self.failure("PostgreSQL") }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: return PostgresRows(result)
        default:
            defer { PQclear(result) }
            throw self.failure("PostgreSQL", result)
        }
    }

    /// By the SQLSTATE: data exceptions, violated constraints and exceeded limits are the record's, missing privileges
    /// the user's.
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
