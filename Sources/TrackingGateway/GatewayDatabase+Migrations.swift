package import TrackingCore
package import TrackingRules

extension GatewayDatabase {
    /// The database migrations of all components of a gateway, in the order in which they are applied.
    static let migrations: [Migration] =
        AccessSchema.migrations + Quarantine.migrations + RulesSchema.migrations + Erasures.migrations
        + AuditLog.migrations + CredentialStore.migrations

    /// Opens the database of a gateway. If a file does not exist, it is created so that only its owner can read and
    /// write it. The folder must exist. A PostgreSQL database is opened by the first call of another function.
    ///
    /// - Throws: `storeUnusable` when the file is no gateway database, or was written by a newer version of Godwit;
    ///   `storeFailed` when the file cannot be opened.
    package init(at place: String) throws(TrackingError) { try self.init(at: place, migrations: Self.migrations) }
}
