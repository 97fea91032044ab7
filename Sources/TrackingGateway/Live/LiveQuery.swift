import HTTPTypes
import TrackingCore

/// The query of `GET /api/v1/live`.
struct LiveQuery: Hashable, Sendable {
    /// The trackables or the box that the stream is about.
    let wanted: LiveSelection.Wanted
    /// The last event that the reader received, for readers that cannot set the header.
    let last: LiveEventID?

    /// Reads a query without its question mark: `trackables=a,b`, `trackable=a` or `bbox=west,south,east,north`, and
    /// `lastEventId`.
    ///
    /// - Throws: `Problem` with the reason.
    init(_ query: Substring) throws {
        let names = ["trackables", "trackable", "bbox", "lastEventId"]
        let query = APIQuery(try QueryParameters(query, allowing: names))
        self.last = query["lastEventId"].flatMap { LiveEventID($0) }
        switch try (query.trackables(), query.box()) {
        case (let ids?, nil): self.wanted = .these(ids)
        case (nil, let box?): self.wanted = .box(box)
        case (nil, nil): self.wanted = .everything
        case (.some, .some): throw Problem(.badRequest, "Give trackables or bbox, not both.")
        }
    }
}
