import TrackingCore
import TrackingStore

/// One page to be read from the history.
struct HistoryRead: Hashable, Sendable {
    /// The records of the page.
    enum Query: Hashable, Sendable {
        case trackables(after: TrackableID?)
        case events(TrackableID, after: TrackingEvent?)
        case trips(TrackableID, after: Trip?)
        case points(TrackableID, after: PointName?)
    }

    /// The records to read at once.
    static let pageSize = 500

    var query: Query
    /// The times of the records; all of time for trackables.
    var times: TimeSpan
    /// The number of the read. An answer to an earlier number is ignored.
    var number: Int
}

/// One page that was read from the history.
enum HistoryPage: Hashable, Sendable {
    case trackables([TrackableID])
    case events([TrackingEvent])
    case trips([Trip])
    case points(PointPage)
}

extension HistoryStore {
    /// Reads a page.
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
