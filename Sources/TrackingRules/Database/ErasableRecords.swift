package import TrackingCore
package import TrackingStore

/// Two functions for the records about trackables that another component stores in the gateway's database: one finds
/// them, the other removes them.
///
/// When a trackable is erased, these records are removed. The trackable's messages in the outbox, the gateway's message
/// queue, are removed together with them. Each function runs within a transaction.
package struct ErasableRecords: Sendable {
    /// Returns the trackables about which one component of the gateway has stored records in the gateway's database.
    package let trackables: @Sendable (GatewayTransaction) throws -> Set<TrackableID>
    /// Removes one component's records of a trackable that are older than the given time. With `nil`, removes all of
    /// this component's records of the trackable.
    package let remove: @Sendable (TrackableID, UnixTime?, GatewayTransaction) throws -> Void

    /// Creates the description of one component's records from its two functions.
    ///
    /// - Parameters:
    ///   - trackables: Returns the trackables of which the component stores records.
    ///   - remove: Removes the records of a trackable that are older than the given time. With `nil`, removes all of
    ///     them.
    package init(
        trackables: @escaping @Sendable (GatewayTransaction) throws -> Set<TrackableID>,
        remove: @escaping @Sendable (TrackableID, UnixTime?, GatewayTransaction) throws -> Void
    ) {
        self.trackables = trackables
        self.remove = remove
    }
}
