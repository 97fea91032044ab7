package import GRDB
package import TrackingCore

/// Access to records about trackables that another component stores in the gateway's database. Erasing a trackable
/// removes these records together with its messages in the outbox. Each closure runs within a transaction.
package struct ErasableRecords: Sendable {
    /// Returns the trackables of which the component stores records.
    package let trackables: @Sendable (Database) throws -> Set<TrackableID>
    /// Removes the component's records of a trackable that are older than the given time, or all of them (`nil`).
    package let remove: @Sendable (TrackableID, UnixTime?, Database) throws -> Void

    /// Creates access to the records of a component.
    ///
    /// - Parameters:
    ///   - trackables: Returns the trackables of which the component stores records.
    ///   - remove: Removes the records of a trackable that are older than the given time, or all of them (`nil`).
    package init(
        trackables: @escaping @Sendable (Database) throws -> Set<TrackableID>,
        remove: @escaping @Sendable (TrackableID, UnixTime?, Database) throws -> Void
    ) {
        self.trackables = trackables
        self.remove = remove
    }
}
