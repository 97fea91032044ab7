import HTTPTypes
import TrackingCore
import TrackingHistory

/// What the query of `GET /api/v1/live` asks for.
struct LiveQuery: Hashable, Sendable {
    /// What the stream is about.
    let wanted: LiveSelection.Wanted
    /// The last event that the reader has, where it cannot set the header.
    let last: LiveEventID?

    /// The most trackables that are named.
    private static let maximumNamed = 1_000

    /// Reads a query without its question mark: `trackables=a,b` or `bbox=west,south,east,north`, and `lastEventId`. Commas
    /// separate ids as they stand; those of an id are percent-encoded.
    ///
    /// - Throws: `Problem` that says what is wrong.
    init(_ query: Substring) throws {
        var ids: Set<TrackableID>?
        var box: GeoBox?
        var last: LiveEventID?
        for member in query.split(separator: "&") {
            let (name, value) =
                member.firstIndex(of: "=").map { (member[..<$0], member[$0...].dropFirst()) } ?? (member, "")
            switch name {
            case "trackables": ids = (ids ?? []).union(try Self.ids(value))
            case "bbox": box = try Self.box(value)
            case "lastEventId": last = LiveEventID(value)
            default: break  // the token, say
            }
        }
        self.last = last
        switch (ids, box) {
        case (let ids?, nil): self.wanted = .these(ids)
        case (nil, let box?): self.wanted = .box(box)
        case (nil, nil): self.wanted = .everything
        case (.some, .some): throw Problem(.badRequest, "Give trackables or bbox, not both.")
        }
    }

    /// Reads ids with commas between, each percent-encoded.
    ///
    /// - Throws: `Problem` that says what is wrong.
    static func ids(_ list: Substring) throws -> Set<TrackableID> {
        let parts = list.split(separator: ",")
        guard (1...Self.maximumNamed).contains(parts.count) else {
            throw Problem(.badRequest, "trackables names 1 to \(Self.maximumNamed) ids, separated by commas.")
        }
        return try Set(
            parts.map { part in
                guard let text = part.percentDecoded else {
                    throw Problem(.badRequest, "trackables is not percent-encoded UTF-8.")
                }
                return try TrackableID(text)
            })
    }

    private static func box(_ text: Substring) throws(Problem) -> GeoBox {
        try explained { () throws(TrackingError) in try GeoBox(parsing: text.percentDecoded ?? "") }
    }
}
