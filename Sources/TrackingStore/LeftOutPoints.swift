public import TrackingCore

/// A check for points that a query with a box left out because of their place, between two points that it found.
///
/// The check is needed where the numbers of a stream between the two points are stored, or where the points have no
/// numbers. It reads many points at once as long as the query finds consecutive points.
public struct LeftOutPoints: Sendable {
    private let store: any HistoryStore
    /// The query without the box; `nil` if the query has no box and leaves nothing out.
    private let query: PointQuery?
    /// The times of the next points, at any place.
    private var times: ArraySlice<UnixTime> = []
    /// The number of points in the next read.
    private var limit = 1

    private static let maximumLimit = 1000

    /// Makes a check for a query.
    public init(_ query: PointQuery, in store: any HistoryStore) {
        self.store = store
        var everywhere = query
        everywhere.box = nil
        self.query = query.box == nil ? nil : everywhere
    }

    /// Returns `true` if the box of the query left out points between a time and a point. The points must be passed in
    /// order.
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
        // The box left out points here, so the next read begins with a single point again.
        self.limit = 1
        return true
    }
}
