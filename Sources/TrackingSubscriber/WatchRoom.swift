import TrackingCore

/// Makes room for new trackables when a subscriber that watches all trackables has reached its limit.
struct WatchRoom: Sendable {
    /// The time without a publisher after which the subscriber may stop watching a trackable, to make room for another
    /// one: one day.
    static let longAbsence = Duration.seconds(86_400)
    /// The shortest time between two searches for trackables that the subscriber may stop watching: one minute.
    static let searchInterval = Duration.seconds(60)

    /// The time before which ``search(_:at:where:)`` does not search again; `nil` before the first search.
    private var nextSearch: MonotonicTime?

    /// Searches for trackables that have been without a publisher for ``longAbsence``.
    ///
    /// - Parameter isOptional: Returns `true` for a trackable for which the program made no request of its own.
    /// - Returns: The trackables that need no longer be watched; `nil` if the last search was less than
    ///   ``searchInterval`` ago.
    mutating func search(
        _ assets: [TrackableID: WatchedAsset], at moment: Moment, where isOptional: (TrackableID) -> Bool
    ) -> [TrackableID]? {
        guard self.nextSearch.map({ $0 <= moment.now }) ?? true else { return nil }
        self.nextSearch = moment.now.advanced(by: Self.searchInterval)
        let limit = moment.wall.advanced(by: .zero - Self.longAbsence)
        return assets.values.filter { asset in
            asset.owner == nil && isOptional(asset.id) && (asset.signs.lastKnown.map { $0 < limit } ?? true)
        }.map(\.id)
    }
}
