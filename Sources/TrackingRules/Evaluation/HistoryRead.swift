import TrackingCore
import TrackingStore

/// One page that the gateway is to read from the history, to find records that webhooks missed.
struct HistoryRead: Hashable, Sendable {
    /// The contents of a page: trackables, or the events, trips or points of one trackable, after the last one of the
    /// page before (`nil` for the first page).
    enum Query: Hashable, Sendable {
        case trackables(after: TrackableID?)
        case events(TrackableID, after: TrackingEvent?)
        case trips(TrackableID, after: Trip?)
        case points(TrackableID, after: PointName?)
    }

    /// The number of records on a full page.
    static let pageSize = 500

    var query: Query
    /// The time span of the records on the page. It has no meaning for a page of trackables.
    var times: TimeSpan
    /// The number of the read, ascending. An answer with an earlier number is ignored.
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
    /// Reads a page of the history.
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
