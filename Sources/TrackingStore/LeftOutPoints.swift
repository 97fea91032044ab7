public import TrackingCore

/// Tells whether a query with a box left points out for their place, between points that it found one after the other.
///
/// Asked where numbers of a stream are passed over all of which are stored, or points have no numbers. Where the query finds what
/// follows one another, many points are looked at with one question to the store.
public struct LeftOutPoints: Sendable {
    private let store: any HistoryStore
    /// The same without the box; `nil` where there is none, and nothing is left out.
    private let query: PointQuery?
    /// The times of the points that come next, wherever they are.
    private var times: ArraySlice<UnixTime> = []
    /// So many points are looked at together next.
    private var limit = 1

    private static let maximumLimit = 1000

    /// Makes it for a query.
    public init(_ query: PointQuery, in store: any HistoryStore) {
        self.store = store
        var everywhere = query
        everywhere.box = nil
        self.query = query.box == nil ? nil : everywhere
    }

    /// Whether there are any between a time and a point. Asked in the order of the points.
    ///
    /// - Throws: `storeFailed`.
    public mutating func areAny(after time: UnixTime, before point: Location) async throws(TrackingError) -> Bool {
        guard var rest = self.query else { return false }
        self.times = self.times.drop { $0 <= time }
        if self.times.isEmpty {
            rest.times.from = UnixTime(time.seconds.nextUp)
            self.times = try await self.store.points(rest, after: nil, limit: self.limit).points.map(\.location.time)[
                ...]
            self.limit = min(self.limit * 2, Self.maximumLimit)
        }
        guard let next = self.times.first, next < point.time else { return false }
        // The query goes on elsewhere.
        self.limit = 1
        return true
    }
}
