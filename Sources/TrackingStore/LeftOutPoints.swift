public import TrackingCore

/// Finds out if the box of a query left out points of the trackable between two points of the query's result.
///
/// A caller needs the check if the record numbers between the two points are stored, or if the points have no numbers.
/// As long as the box left out no point, each read requests twice as many points as the read before, at most 1,000.
public struct LeftOutPoints: Sendable {
    private let store: any HistoryStore
    /// The query without its box, with which the check reads the trackable's points inside and outside of the box.
    /// `nil` if the original query has no box: then no point was left out, and nothing is read.
    private let query: PointQuery?
    /// The times of the points that the last read from the history returned, inside and outside of the query's box.
    /// Times up to the argument `time` of the last call of ``areAny(after:before:)`` are removed.
    private var times: ArraySlice<UnixTime> = []
    /// The number of points that the check reads from the history at once next. It doubles with each read, and becomes
    /// 1 again after a left-out point was found.
    private var limit = 1

    private static let maximumLimit = 1000

    /// Creates a check of the results of a query. The check finds points that lie between two results in time, but were
    /// left out because they are outside of the query's box. For a query without a box, it finds none and reads
    /// nothing.
    public init(_ query: PointQuery, in store: any HistoryStore) {
        self.store = store
        var everywhere = query
        everywhere.box = nil
        self.query = query.box == nil ? nil : everywhere
    }

    /// Returns `true` if the query's box left out a point that is later than `time` and earlier than `point`. The
    /// points must be passed in the order of time.
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
