import CSQLite

/// A prepared statement of SQLite that binds and reads values directly. Device logs and histories use it for statements
/// that run once for each record.
package struct DirectStatement {
    private let pointer: OpaquePointer

    /// Makes a statement from SQLite's own statement, which its owner keeps as long as this value is used.
    package init(prepared pointer: OpaquePointer) {
        self.pointer = pointer
        sqlite3_reset(pointer)
    }

    /// Makes a statement of a connection, which prepares each text once.
    ///
    /// - Throws: ``SQLiteError``.
    package init(_ sql: String, in connection: SQLiteConnection) throws {
        self.init(prepared: try connection.prepared(sql))
    }

    package func bind(_ value: Int64, _ place: Int32) { sqlite3_bind_int64(self.pointer, place, value) }
    package func bind(_ value: Double, _ place: Int32) { sqlite3_bind_double(self.pointer, place, value) }
    package func bindNull(_ place: Int32) { sqlite3_bind_null(self.pointer, place) }

    /// Binds a copy of a text to the parameter at `place`, counted from 1; `nil` is bound as NULL.
    package func bind(_ value: String?, _ place: Int32) {
        guard let value else { return self.bindNull(place) }
        sqlite3_bind_text(self.pointer, place, value, Int32(value.utf8.count), Self.copying)
    }

    /// Binds a copy of UTF-8 bytes as a text to the parameter at `place`, counted from 1; `nil` is bound as NULL.
    package func bind(text value: [UInt8]?, _ place: Int32) {
        guard let value else { return self.bindNull(place) }
        value.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return self.bind("", place) }
            let text = start.assumingMemoryBound(to: CChar.self)
            sqlite3_bind_text(self.pointer, place, text, Int32(bytes.count), Self.copying)
        }
    }

    /// Binds a number to the parameter at `place`, counted from 1; `nil` is bound as NULL.
    package func bind(_ value: Double?, _ place: Int32) {
        if let value { self.bind(value, place) } else { self.bindNull(place) }
    }

    /// Binds an integer to the parameter at `place`, counted from 1; `nil` is bound as NULL.
    package func bind(_ value: Int64?, _ place: Int32) {
        if let value { self.bind(value, place) } else { self.bindNull(place) }
    }

    /// Binds a copy of bytes as a blob to the parameter at `place`, counted from 1; `nil` is bound as NULL.
    package func bind(_ value: [UInt8]?, _ place: Int32) {
        guard let value else { return self.bindNull(place) }
        _ = value.withUnsafeBytes { bytes in
            // A missing address would bind NULL.
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(self.pointer, place, 0)
                : sqlite3_bind_blob(self.pointer, place, bytes.baseAddress, Int32(bytes.count), Self.copying)
        }
    }

    /// Advances the statement to the next row of its result.
    ///
    /// - Returns: `true` if there is a row; `false` at the end of the result.
    /// - Throws: ``SQLiteError``.
    package func step() throws -> Bool {
        switch sqlite3_step(self.pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let connection = sqlite3_db_handle(self.pointer)
            let code = sqlite3_extended_errcode(connection)
            let message = String(cString: sqlite3_errmsg(connection))
            sqlite3_reset(self.pointer)
            throw SQLiteError(.init(rawValue: code), message: message)
        }
    }

    /// Runs the statement to its end, and resets it for the next run.
    ///
    /// - Throws: ``SQLiteError``.
    package func run() throws {
        defer { self.reset() }
        while try self.step() {}
    }

    /// Runs the statement to its end with bytes that are bound without a copy to the parameter at `place`, counted from
    /// 1.
    ///
    /// - Throws: ``SQLiteError``.
    package func run(binding bytes: [UInt8], _ place: Int32) throws {
        guard !bytes.isEmpty else {
            self.bind([], place)
            return try self.run()
        }
        try bytes.withUnsafeBytes {
            sqlite3_bind_blob(self.pointer, place, $0.baseAddress, Int32($0.count), nil)
            defer { sqlite3_bind_null(self.pointer, place) }
            try self.run()
        }
    }

    package func reset() { sqlite3_reset(self.pointer) }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(self.pointer, column) }
    package func number(_ column: Int32) -> Double { sqlite3_column_double(self.pointer, column) }
    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(self.pointer, column) == SQLITE_NULL }

    package func optionalNumber(_ column: Int32) -> Double? { self.isNull(column) ? nil : self.number(column) }
    package func optionalInteger(_ column: Int32) -> Int64? { self.isNull(column) ? nil : self.integer(column) }
    package func optionalText(_ column: Int32) -> String? { self.isNull(column) ? nil : self.text(column) }
    package func optionalBytes(_ column: Int32) -> [UInt8]? { self.isNull(column) ? nil : self.bytes(column) }

    package func text(_ column: Int32) -> String { String(decoding: self.buffer(column, isText: true), as: UTF8.self) }
    package func bytes(_ column: Int32) -> [UInt8] { Array(self.buffer(column, isText: false)) }

    /// Returns the bytes of a column of the current row, without a copy. They are valid until the next step or reset.
    package func buffer(_ column: Int32, isText: Bool) -> UnsafeRawBufferPointer {
        let start =
            isText
            ? UnsafeRawPointer(sqlite3_column_text(self.pointer, column)) : sqlite3_column_blob(self.pointer, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self.pointer, column)))
    }

    private static var copying: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
