import Hummingbird
import HummingbirdCore
import NIOCore
import TrackingCore
import TrackingHistory
import TrackingStore

/// The API routes of a trackable's trips and events.
extension APIRoutes {
    /// Answers with the recorded trips of a trackable, and with the trips and stops found in the points between them,
    /// as `godwit trips` lists them.
    func trips(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        let caller = try context.requireCaller()
        try caller.checkReadsHistory()
        let asked = try self.query(request, "from", "to", "last", "matched")
        let times = try asked.times()
        let engine = try self.engine(asked)
        let history = try self.requireHistory()
        let recorded = try await history.allTrips(of: id, during: times)
        let listing = try TripListing(recorded: recorded, from: times.from, to: times.to)
        let query = PointQuery(id, during: TimeSpan(from: listing.from, to: listing.to))
        let first = try await history.points(query, after: nil, limit: PointPages.size)
        if recorded.isEmpty, first.points.isEmpty, try await history.verify(id) == nil {
            throw Problem(.notFound, "The history has no records of this trackable.")
        }
        let pages = PointPages(history: history, query: query, first: first) { () throws(Problem) in
            try await self.checkStillHolds(caller)
        }
        var pieces = TripPieces(pages, listing, history: history, engine: engine)
        let beginning = try await pieces.beginning()
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { [pieces] writer in
                var pieces = pieces
                try await writer.write(beginning)
                while let piece = try await pieces.next() { try await writer.write(piece) }
                try await writer.finish(nil)
            })
    }

    /// Answers with a page of the tracking events of a trackable, sorted by time.
    func events(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        try context.requireCaller().checkReadsHistory()
        let query = try self.query(request, "from", "to", "last", "limit", "after")
        let times = try query.times()
        let limit = try query.whole("limit", in: 1...1000) ?? 100
        let last = try EventCursor(query["after"])?.event
        let history = try self.requireHistory()
        let found = try await history.events(of: id, during: times, after: last, limit: limit + 1)
        if found.isEmpty, try await history.verify(id) == nil {
            throw Problem(.notFound, "The history has no records of this trackable.")
        }
        let page = found.prefix(limit)
        var list = JSONListBuffer(#"{"events":["#)
        for event in page { list.append(MessageCodec.encode(event)) }
        let next = found.count > limit ? page.last.map(EventCursor.init) : nil
        list.end(next.map { #"],"next":"\#($0.text)"}"# } ?? "]}")
        return Response(
            status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: list.take()))
    }
}

/// A position in the list of a trackable's events, after which the next page of an answer begins. It names the time,
/// the number and the stream of the last event on the previous page. It stays valid when further events are recorded.
struct EventCursor {
    /// The last event on the previous page. Only its time, number and stream are meaningful.
    let event: TrackingEvent

    /// Creates the cursor for the page after the given event, which is the last event of the page before.
    init(_ event: TrackingEvent) { self.event = event }

    /// Reads a cursor, the place at which the next page of events begins, from the ``text`` that a client sent back;
    /// `nil` if the client sent none.
    ///
    /// - Throws: `Problem` (400) if the text is not a cursor.
    init?(_ text: String?) throws(Problem) {
        guard let text else { return nil }
        let parts = text.split(separator: "_", maxSplits: 2)
        guard parts.count == 3, let time = Double(decimal: parts[0]), WireLimits.allows(UnixTime(time)),
            let seq = UInt64(parts[1]), let name = TrackableID(topicLevel: String(parts[2])),
            let stream = StreamID(name.rawValue)
        else { throw Problem(.badRequest, "The parameter 'after' must be the value of 'next' in the previous page.") }
        self.event = TrackingEvent(id: "-", stream: stream, seq: seq, time: UnixTime(time), kind: .action)
    }

    /// The cursor as text, for the query parameter `after`: it names the event after which the next page begins. The id
    /// of the stream is encoded so that the text needs no percent-encoding.
    var text: String {
        let stream = (try? TrackableID(self.event.stream.rawValue))?.topicLevel ?? ""
        return "\(self.event.time.seconds)_\(self.event.seq)_\(stream)"
    }
}

/// The trips and stops of a trackable as the bytes of a JSON object. The bytes are produced in portions.
private struct TripPieces: Sendable {
    private var pages: PointPages
    private var listing: TripListing
    private var list = JSONListBuffer(#"{"trips":["#)
    private let history: any HistoryStore
    /// The routing engine that measures distances along the roads; `nil` for a list without them.
    private let engine: (any RoadEngine)?
    /// `true` once a distance along the roads was measured.
    private var hasMeasured = false
    private var isDone = false

    init(_ pages: PointPages, _ listing: TripListing, history: any HistoryStore, engine: (any RoadEngine)?) {
        self.pages = pages
        self.listing = listing
        self.history = history
        self.engine = engine
    }

    /// Returns the first bytes of the JSON object. With a routing engine, they contain the first measured trip, so that
    /// an engine that does not answer is an error before the answer begins.
    mutating func beginning() async throws -> ByteBuffer {
        var beginning = ByteBuffer()
        while self.engine != nil, !self.hasMeasured, let piece = try await self.next() {
            beginning.writeImmutableBuffer(piece)
        }
        return beginning
    }

    /// Returns the next bytes of the JSON object; `nil` after the last bytes.
    mutating func next() async throws -> ByteBuffer? {
        guard !self.isDone else { return nil }
        guard let page = try await self.pages.read() else {
            self.isDone = true
            for entry in self.listing.finish() { try await self.append(entry) }
            self.list.end("]}\n")
            return self.list.take()
        }
        for point in page where !point.hasClockFault {
            for entry in self.listing.append(point.location) { try await self.append(entry) }
        }
        // A search may find nothing for a long time, so it checks whether the client has disconnected.
        try Task.checkCancellation()
        return self.list.take()
    }

    private mutating func append(_ entry: TripListing.Entry) async throws {
        var row = TripRow(entry)
        if let engine = self.engine {
            try await row.measureRoads(of: self.pages.query.trackable, in: self.history, by: engine)
            if row.roadDistance != nil { self.hasMeasured = true }
        }
        self.list.append(row.value.json)
    }
}

/// A JSON list that is written to an HTTP answer in pieces, while its elements are still being produced.
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

    /// Removes and returns the bytes that were added to the JSON list since the last call.
    mutating func take() -> ByteBuffer {
        defer { self.buffer.clear() }
        return self.buffer
    }
}
