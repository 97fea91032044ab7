import CSQLite

/// An error that SQLite reported.
package struct SQLiteError: Error, Hashable, CustomStringConvertible {
    /// A result code of SQLite.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: Int32

        package init(rawValue: Int32) { self.rawValue = rawValue }

        package static let busy = Code(rawValue: SQLITE_BUSY)
        package static let locked = Code(rawValue: SQLITE_LOCKED)
        package static let full = Code(rawValue: SQLITE_FULL)
        package static let outOfMemory = Code(rawValue: SQLITE_NOMEM)
        package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
        package static let permissionDenied = Code(rawValue: SQLITE_PERM)
        package static let unauthorized = Code(rawValue: SQLITE_AUTH)
        package static let inputOutput = Code(rawValue: SQLITE_IOERR)
        package static let readOnly = Code(rawValue: SQLITE_READONLY)
        package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
        package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
        /// The extended code for a file that ends before the bytes that SQLite reads.
        package static let shortRead = Code(rawValue: SQLITE_IOERR | 2 << 8)
    }

    /// The extended result code, which names the cause more precisely than ``code``.
    package let extendedCode: Code
    /// The description of the error by SQLite.
    package let message: String

    /// Makes an error from a result code.
    ///
    /// - Parameter message: The description; `nil` for SQLite's general description of the code.
    package init(_ extendedCode: Code, message: String? = nil) {
        self.extendedCode = extendedCode
        self.message = message ?? String(cString: sqlite3_errstr(extendedCode.rawValue))
    }

    /// The primary result code: the lowest 8 bits of ``extendedCode``.
    package var code: Code { Code(rawValue: self.extendedCode.rawValue & 0xFF) }

    package var description: String { "\(self.message) (SQLite \(self.extendedCode.rawValue))" }
}
