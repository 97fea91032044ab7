import CSQLite

/// A connection to a database file of SQLite, with its prepared statements. It is used on one thread at a time.
package final class SQLiteConnection {
    /// The path of the file.
    package let path: String
    private var connection: OpaquePointer?
    /// The prepared statements of ``DirectStatement``, by their text.
    private var statements: [String: OpaquePointer] = [:]

    /// Opens a database file, or makes it. A lock of another program is an error at once.
    ///
    /// - Throws: ``SQLiteError``.
    package init(path: String) throws {
        self.path = path
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        var opened: OpaquePointer?
        let result = sqlite3_open_v2(path, &opened, flags, nil)
        guard result == SQLITE_OK else {
            sqlite3_close(opened)
            throw SQLiteError(.init(rawValue: result))
        }
        self.connection = opened
    }

    deinit {
        self.finalizeStatements()
        sqlite3_close_v2(self.connection)
    }

    /// Closes the file.
    ///
    /// - Throws: ``SQLiteError``.
    package func close() throws {
        self.finalizeStatements()
        try self.check(sqlite3_close(self.connection))
        self.connection = nil
    }

    private func finalizeStatements() {
        for statement in self.statements.values { sqlite3_finalize(statement) }
        self.statements = [:]
    }

    /// Runs one or more statements without parameters, and ignores their rows.
    ///
    /// - Throws: ``SQLiteError``.
    package func execute(_ sql: String) throws { try self.check(sqlite3_exec(self.connection, sql, nil, nil, nil)) }

    /// Returns the first column of all rows of a query, as integers.
    ///
    /// - Throws: ``SQLiteError``.
    package func integers(_ sql: String) throws -> [Int64] { try self.rows(sql) { $0.integer(0) } }

    /// Returns the first column of the first row of a query, as an integer; `nil` for no row or NULL.
    ///
    /// - Throws: ``SQLiteError``.
    package func integer(_ sql: String) throws -> Int64? {
        try self.rows(sql, atMost: 1) { $0.optionalInteger(0) }.first ?? nil
    }

    /// Returns the first column of the rows of a query, at most `count`, as texts.
    ///
    /// - Throws: ``SQLiteError``.
    package func texts(_ sql: String, atMost count: Int = .max) throws -> [String] {
        try self.rows(sql, atMost: count) { $0.text(0) }
    }

    /// Runs a query that is prepared for this one run, because SQLite evaluates some pragmas while it prepares them.
    private func rows<Value>(
        _ sql: String, atMost count: Int = .max, _ value: (DirectStatement) -> Value
    ) throws -> [Value] {
        let pointer = try self.prepare(sql, flags: 0)
        defer { sqlite3_finalize(pointer) }
        let statement = DirectStatement(prepared: pointer)
        var values: [Value] = []
        while values.count < count, try statement.step() { values.append(value(statement)) }
        return values
    }

    /// Returns the prepared statement with this text, which the connection keeps for later calls.
    func prepared(_ sql: String) throws -> OpaquePointer {
        if let statement = self.statements[sql] { return statement }
        let statement = try self.prepare(sql, flags: UInt32(SQLITE_PREPARE_PERSISTENT))
        self.statements[sql] = statement
        return statement
    }

    private func prepare(_ sql: String, flags: UInt32) throws -> OpaquePointer {
        var statement: OpaquePointer?
        try self.check(sqlite3_prepare_v3(self.connection, sql, -1, flags, &statement, nil))
        guard let statement else { throw SQLiteError(.init(rawValue: SQLITE_MISUSE)) }
        return statement
    }

    /// Runs `body` in a transaction that begins with the lock for writing. The transaction is rolled back if `body`
    /// throws.
    ///
    /// - Throws: ``SQLiteError``, or the error of `body`.
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            try DirectStatement("BEGIN IMMEDIATE", in: self).run()
            let value = try body()
            try DirectStatement("COMMIT", in: self).run()
            return value
        } catch {
            // SQLite rolls some failed transactions back itself.
            if let connection = self.connection, sqlite3_get_autocommit(connection) == 0 {
                try? DirectStatement("ROLLBACK", in: self).run()
            }
            throw error
        }
    }

    /// The number of rows that the latest `INSERT`, `UPDATE` or `DELETE` changed.
    package var changesCount: Int { Int(sqlite3_changes(self.connection)) }

    /// Moves the content of the write-ahead log into the file, and cuts the write-ahead log to no bytes.
    ///
    /// - Throws: ``SQLiteError``.
    package func checkpoint() throws {
        try self.check(sqlite3_wal_checkpoint_v2(self.connection, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
    }

    private func check(_ result: Int32) throws {
        guard result != SQLITE_OK else { return }
        throw SQLiteError(.init(rawValue: result), message: String(cString: sqlite3_errmsg(self.connection)))
    }
}
