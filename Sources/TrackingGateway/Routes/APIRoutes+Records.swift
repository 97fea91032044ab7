import Hummingbird
import HummingbirdCore
import NIOCore
import TrackingCore
import TrackingHistory
import TrackingStore

/// Trips and events.
extension APIRoutes {
    /// The trips that were recorded, and the trips and stops found in the points between: as `godwit trips` lists them.
    func trips(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        try context.requireCaller().checkReadsHistory()
        let times = try self.query(request).times()
        let history = try self.requireHistory()
        let recorded = try await history.allTrips(of: id, during: times)
        let listing = try TripListing(recorded: recorded, from: times.from, to: times.to)
        let query = PointQuery(id, during: TimeSpan(from: listing.from, to: listing.to))
        let first = try await history.points(query, after: nil, limit: PointPages.size)
        if recorded.isEmpty, first.points.isEmpty, try await history.verify(id) == nil {
            throw Problem(.notFound, "Nothing is recorded of this trackable.")
        }
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                var listing = listing
                var list = JSONListBuffer(#"{"trips":["#)
                var pages = PointPages(history: history, query: query, first: first)
                while let page = try await pages.read() {
                    for point in page where !point.hasClockFault {
                        for entry in listing.append(point.location) { list.append(TripRow(entry).value.json) }
                    }
                    // Nothing may be found for long: it does not go on for someone who is gone.
                    try Task.checkCancellation()
                    try await writer.write(list.take())
                }
                for entry in listing.finish() { list.append(TripRow(entry).value.json) }
                list.end("]}\n")
                try await writer.write(list.take())
                try await writer.finish(nil)
            })
    }

    /// A page of what happened to a trackable, by time.
    func events(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        try context.requireCaller().checkReadsHistory()
        let query = self.query(request)
        var times = try query.times()
        let limit = try query.whole("limit", in: 1...1000) ?? 100
        let cursor = try EventCursor(query["after"])
        if let cursor { times.from = max(times.from ?? cursor.time, cursor.time) }
        let history = try self.requireHistory()
        let skipped = cursor?.count ?? 0
        let found = try await history.events(of: id, during: times, after: nil, limit: skipped + limit + 1)
        if found.isEmpty, try await history.verify(id) == nil {
            throw Problem(.notFound, "Nothing is recorded of this trackable.")
        }
        let page = Array(found.dropFirst(skipped).prefix(limit))
        var list = JSONListBuffer(#"{"events":["#)
        for event in page { list.append(MessageCodec.encode(event)) }
        let hasMore = found.count > skipped + limit
        let next = hasMore ? page.last.map { EventCursor(after: $0, in: found.prefix(skipped + limit)) } : nil
        list.end(next.map { #"],"next":"\#($0.text)"}"# } ?? "]}")
        return Response(
            status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: list.take()))
    }
}

/// Where a page of events goes on: at a time, behind so many of that time.
struct EventCursor: Hashable {
    let time: UnixTime
    let count: Int

    /// Behind an event, which is the last of `events`.
    init(after event: TrackingEvent, in events: some Sequence<TrackingEvent>) {
        self.time = event.time
        self.count = events.count { $0.time == event.time }
    }

    /// Reads what ``text`` wrote.
    ///
    /// - Throws: A problem where it is none.
    init?(_ text: String?) throws(Problem) {
        guard let text else { return nil }
        let parts = text.split(separator: "_")
        guard parts.count == 2, let time = Double(parts[0]), time.isFinite, let count = Int(parts[1]),
            (1...100_000).contains(count)
        else { throw Problem(.badRequest, "after is what the page before gave as next") }
        self.time = UnixTime(time)
        self.count = count
    }

    var text: String { "\(self.time.seconds)_\(self.count)" }
}

/// A JSON list that is written piece by piece.
private struct JSONListBuffer {
    private var buffer: ByteBuffer
    private var isFirst = true

    init(_ beginning: String) { self.buffer = ByteBuffer(string: beginning) }

    mutating func append(_ json: [UInt8]) {
        if !self.isFirst { self.buffer.writeString(",\n") }
        self.isFirst = false
        self.buffer.writeBytes(json)
    }

    mutating func end(_ ending: String) { self.buffer.writeString(ending) }

    /// What was not taken yet.
    mutating func take() -> ByteBuffer {
        defer { self.buffer.clear() }
        return self.buffer
    }
}
