import TrackingCore
import TrackingStore

/// A request for one page of the history. The gateway reads the page to find records that webhooks missed.
struct HistoryRead: Hashable, Sendable {
    /// The content of the requested page: trackables, or the events, trips or points of one trackable. The page begins
    /// after the given last item of the previous page; `nil` requests the first page.
    enum Query: Hashable, Sendable {
        case trackables(after: TrackableID?)
        case events(TrackableID, after: TrackingEvent?)
        case trips(TrackableID, after: Trip?)
        case points(TrackableID, after: PointName?)
    }

    /// The number of records, or of trackables, on a full page of the history.
    static let pageSize = PendingMessages.pageCount

    var query: Query
    /// The time span of the requested records. It has no meaning for a page of trackables.
    var times: TimeSpan
    /// The number of this request for a page of the history. Later requests have higher numbers. Only the answer to the
    /// latest request is used.
    var number: Int
}

/// The contents of one page that was read from the history.
enum HistoryPage: Hashable, Sendable {
    case trackables([TrackableID])
    case events([TrackingEvent])
    case trips([Trip])
    case points(PointPage)
}

extension HistoryStore {
    /// Reads the page of the history that a request describes.
    ///
    /// - Throws: `storeFailed`.
    func page(_ read: HistoryRead) async throws(TrackingError) -> HistoryPage {
        let (times, limit) = (read.times, HistoryRead.pageSize)
        switch read.query {
        case .trackables(let last):
            return .trackables(try await self.trackables(after: last, limit: limit).map(\.id))
        case .events(let id, let last):
            return .events(try await self.events(of: id, during: times, after: last, limit: limit))
        case .trips(let id, let last):
            return .trips(try await self.trips(of: id, during: times, after: last, limit: limit))
        case .points(let id, let last):
            return .points(try await self.points(PointQuery(id, during: times), after: last, limit: limit))
        }
    }
}
