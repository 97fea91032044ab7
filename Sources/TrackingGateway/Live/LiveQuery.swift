import HTTPTypes
import TrackingCore

/// The query of a request for a live stream, `GET /api/v1/live`.
struct LiveQuery: Hashable, Sendable {
    /// The trackables that the stream shows: all, the given ones, or those in a geographic area.
    let wanted: LiveSelection.Wanted
    /// The id of the last event that the client received on an earlier stream; `nil` for none. Clients that cannot set
    /// the header `Last-Event-ID` send the id in the query.
    let last: LiveEventID?
    /// The cells whose counts the client accepts instead of many positions; `nil` for none.
    let area: CellArea?

    /// Reads a query without its question mark: `trackables=a,b`, `trackable=a` or `bbox=west,south,east,north`,
    /// `cells` and `lastEventId`.
    ///
    /// - Throws: `Problem` (400) that names the invalid parameter; `TrackingError` for an invalid id of a trackable.
    init(_ query: Substring) throws {
        let names = ["trackables", "trackable", "bbox", "cells", "lastEventId"]
        let query = APIQuery(try QueryParameters(query, allowing: names))
        self.last = query["lastEventId"].flatMap { LiveEventID($0) }
        let level = try query.whole("cells", in: GridCell.levels)
        self.area = try level.map { CellArea(try query.box(), level: $0) }
        switch try (query.trackables(), query.box()) {
        case (.some, nil) where level != nil:
            throw Problem(
                .badRequest, "The parameters 'trackables' and 'cells' cannot be used together: use one of them.")
        case (let ids?, nil): self.wanted = .these(ids)
        case (nil, let box?): self.wanted = .box(box)
        case (nil, nil): self.wanted = .everything
        case (.some, .some):
            throw Problem(
                .badRequest, "The parameters 'trackables' and 'bbox' cannot be used together: use one of them.")
        }
    }
}
