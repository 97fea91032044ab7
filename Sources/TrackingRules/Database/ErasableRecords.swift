package import GRDB
package import TrackingCore

/// Access to the records that another component keeps about trackables in the gateway's database, for erasing them together with
/// the messages in the outbox. Each closure runs within a transaction.
package struct ErasableRecords: Sendable {
    /// Returns the trackables that the component has records of.
    package let trackables: @Sendable (Database) throws -> Set<TrackableID>
    /// Removes the records of a trackable that are older than a time, or all of them (`nil`).
    package let remove: @Sendable (TrackableID, UnixTime?, Database) throws -> Void

    /// Creates the access.
    package init(
        trackables: @escaping @Sendable (Database) throws -> Set<TrackableID>,
        remove: @escaping @Sendable (TrackableID, UnixTime?, Database) throws -> Void
    ) {
        self.trackables = trackables
        self.remove = remove
    }
}
