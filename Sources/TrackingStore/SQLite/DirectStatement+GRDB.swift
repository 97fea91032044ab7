import GRDB
import TrackingSQLite

extension DirectStatement {
    /// Makes a statement of a connection of GRDB, which prepares each text once.
    ///
    /// - Throws: `DatabaseError`.
    init(_ sql: String, in db: Database) throws {
        self.init(prepared: try db.cachedStatement(sql: sql).sqliteStatement)
    }
}

extension DatabaseError {
    /// Returns the error of a ``DirectStatement`` as an error of GRDB, and any other error unchanged.
    static func converted(_ error: any Error) -> any Error {
        guard let error = error as? SQLiteError else { return error }
        return DatabaseError(resultCode: ResultCode(rawValue: error.extendedCode.rawValue), message: error.message)
    }
}
