import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import TrackingCore
import TrackingHistory
import TrackingStore

/// The API route of a trackable's recorded points.
extension APIRoutes {
    /// The largest permitted value of the query parameter `max-points`, the number of points to which an answer is
    /// thinned. It is limited because the selected points stay in memory until the whole history was read.
    private static let maximumPoints = 20_000

    /// Answers with the recorded points of a trackable as a stream of bytes. Points are read from the history in
    /// portions; the next portion is read once the previous one was sent.
    func points(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        let caller = try context.requireCaller()
        try caller.checkReadsHistory()
        let query = try self.query(request, "from", "to", "last", "bbox", "trip", "max-points", "format", "matched")
        let format = try HistoryFormat.wanted(query, request)
        let maximum = try query.whole("max-points", in: 2...Self.maximumPoints)
        let engine = try self.engine(query)
        guard engine == nil || maximum == nil else {
            throw Problem(
                .badRequest, "The parameters 'matched' and 'max-points' cannot be used together: use one of them.")
        }
        let wanted = PointQuery(id, during: try query.times(), in: try query.box(), tripID: query.trip)
        let history = try self.requireHistory()
        // Read the first page before the answer begins, so that an immediate failure has an error status of its own.
        let first = try await history.points(wanted, after: nil, limit: PointPages.size)
        if first.points.isEmpty, try await history.verify(id) == nil {
            throw Problem(.notFound, "The history has no records of this trackable.")
        }
        var pieces = HistoryPieces(
            PointPages(history: history, query: wanted, first: first) { () throws(Problem) in
                try await self.checkStillHolds(caller)
            }, format: format, maximumPoints: maximum, coverage: try await history.coverage(of: id), engine: engine)
        let beginning = try await pieces.beginning()
        return Response(
            status: .ok,
            headers: [
                .contentType: format.mediaType,
                .contentDisposition: "attachment; filename=\"\(id.topicLevel).\(format.fileExtension)\"",
            ],
            body: ResponseBody { [pieces] writer in
                var pieces = pieces
                try await writer.write(beginning)
                while let piece = try await pieces.next() { try await writer.write(piece) }
                try await writer.finish(nil)
            })
    }

    /// Returns the routing engine if a query asks for positions or distances on the road (`matched=true`); otherwise
    /// `nil`.
    ///
    /// - Throws: `Problem` (400) if the gateway has no engine, or for another value than `true` and `false`.
    func engine(_ query: APIQuery) throws(Problem) -> (any RoadEngine)? {
        switch query["matched"] {
        case nil, "false": return nil
        case "true":
            if let roads = self.roads { return roads }
            throw Problem(
                .badRequest, "This gateway cannot match points with roads: its operator configured no routing engine.")
        default: throw Problem(.badRequest, "The parameter 'matched' must be true or false.")
        }
    }
}

/// The recorded points of a query, read from the history in portions ("pages").
struct PointPages: Sendable {
    /// The number of points of one portion that is read from the history.
    static let size = 2000

    private let history: any HistoryStore
    let query: PointQuery
    private var upcoming: PointPage?
    private var next: PointName?
    private var leftOut: LeftOutPoints
    /// A function that throws a `Problem` if the caller may no longer read the history. It is called before each page
    /// of points is read.
    private let check: @Sendable () async throws(Problem) -> Void

    /// Creates the reader of a query's recorded points. It reads them in portions, of which the first was read already.
    ///
    /// - Parameters:
    ///   - history: The history to read.
    ///   - query: The query of recorded points.
    ///   - first: The first page, which was read already.
    ///   - check: Throws if the caller may no longer read the history.
    init(
        history: any HistoryStore, query: PointQuery, first: PointPage,
        check: @escaping @Sendable () async throws(Problem) -> Void
    ) {
        self.history = history
        self.check = check
        self.query = query
        self.upcoming = first
        self.leftOut = LeftOutPoints(query, in: history)
    }

    /// Returns `true` if recorded points are missing in the track directly before the given point, so that it must not
    /// be connected with the previous one.
    mutating func isInterrupted(
        _ step: TrackContinuity.Step, before point: Location
    ) async throws(TrackingError) -> Bool {
        switch step {
        case .next: false
        case .missing: true
        case .passedOver(let time): try await self.leftOut.areAny(after: time, before: point)
        }
    }

    /// Returns the next portion of points; `nil` after the last one.
    ///
    /// - Throws: `Problem` if the caller may no longer read the history, and the errors of the history.
    mutating func read() async throws -> [StoredPoint]? {
        try await self.check()
        if self.upcoming == nil, let next = self.next {
            self.upcoming = try await self.history.points(self.query, after: next, limit: Self.size)
        }
        let page = self.upcoming.take()
        self.next = page?.next
        return page?.points
    }
}

/// The recorded points of a query as the bytes of a file in an output format. The bytes are produced in portions.
struct HistoryPieces: Sendable {
    private enum Stage {
        case begin, points, done
    }

    /// A portion of the points that remain after thinning. `isInterrupted` is `true` if the track is interrupted before
    /// the first of them.
    private struct KeptPart: Sendable {
        var isInterrupted: Bool
        var points: ArraySlice<Location>
    }

    private var pages: PointPages
    private var writer: HistoryWriter
    private var continuity: TrackContinuity
    /// The matcher of the points with roads; `nil` to write the points as they were recorded.
    private var matcher: TrackMatcher?
    /// `true` once a matched point was written.
    private var hasMatched = false
    private let maximumPoints: Int?
    /// The points that remain after thinning, the reduction to `max-points`, and that are not written yet. `nil` before
    /// the points are thinned, and for a query without `max-points`.
    private var kept: ArraySlice<KeptPart>?
    private var stage = Stage.begin

    /// Creates the bytes of a file with the recorded points of a query.
    ///
    /// - Parameters:
    ///   - pages: The points of the query.
    ///   - format: The output format.
    ///   - maximumPoints: The largest number of points of the output. A longer track is thinned to this number; `nil`
    ///     for all points.
    ///   - coverage: For each stream of a publisher's log, the ranges of record numbers that the history has stored. A
    ///     missing number interrupts the track.
    ///   - engine: The routing engine that matches the points with roads; `nil` for the points as they were recorded.
    init(
        _ pages: PointPages, format: HistoryFormat, maximumPoints: Int?, coverage: [StreamID: StreamCoverage],
        engine: (any RoadEngine)? = nil
    ) {
        self.pages = pages
        self.writer = HistoryWriter(format, of: pages.query.trackable, isMatched: engine != nil)
        self.matcher = engine.map { TrackMatcher($0) }
        self.continuity = TrackContinuity(coverage)
        self.maximumPoints = maximumPoints
    }

    /// Returns the first bytes of the exported file. With a routing engine, they contain the first matched points, so
    /// that an engine that does not answer is an error before the answer begins.
    mutating func beginning() async throws -> ByteBuffer {
        var beginning = ByteBuffer()
        while self.stage == .begin || self.matcher != nil && !self.hasMatched, let piece = try await self.next() {
            beginning.writeImmutableBuffer(piece)
        }
        return beginning
    }

    /// Returns the next bytes of the exported file; `nil` after the last bytes.
    mutating func next() async throws -> ByteBuffer? {
        switch self.stage {
        case .begin:
            self.stage = .points
            return ByteBuffer(bytes: self.writer.begin())
        case .points:
            let piece = self.maximumPoints == nil ? try await self.nextPage() : try await self.nextKept()
            if let piece { return piece }
            self.stage = .done
            var last = ByteBuffer()
            self.write(try await self.matcher?.finish() ?? [], to: &last)
            last.writeBytes(self.writer.finish())
            return last
        case .done: return nil
        }
    }

    private mutating func nextPage() async throws -> ByteBuffer? {
        guard let page = try await self.pages.read() else { return nil }
        var buffer = ByteBuffer()
        for point in page.map(\.location) {
            let step = self.continuity.step(to: point)
            let isInterrupted = try await self.pages.isInterrupted(step, before: point)
            if let matched = try await self.matcher?.append(point, isInterrupted: isInterrupted) {
                self.write(matched, to: &buffer)
            } else {
                if isInterrupted { buffer.writeBytes(self.writer.interrupt()) }
                buffer.writeBytes(self.writer.append(point))
            }
        }
        return buffer
    }

    private mutating func write(_ points: [MatchedPoint], to buffer: inout ByteBuffer) {
        for point in points { buffer.writeBytes(self.writer.append(point)) }
        if !points.isEmpty { self.hasMatched = true }
    }

    private mutating func nextKept() async throws -> ByteBuffer? {
        if self.kept == nil { self.kept = try await self.simplified()[...] }
        guard let part = self.kept?.popFirst() else { return nil }
        var buffer = ByteBuffer()
        if part.isInterrupted { buffer.writeBytes(self.writer.interrupt()) }
        for point in part.points { buffer.writeBytes(self.writer.append(point)) }
        return buffer
    }

    private mutating func simplified() async throws -> [KeptPart] {
        var simplifier = try HistorySimplifier(maximumPoints: self.maximumPoints ?? 2)
        while let page = try await self.pages.read() {
            for point in page.map(\.location) {
                let step = self.continuity.step(to: point)
                if try await self.pages.isInterrupted(step, before: point) { simplifier.interrupt() }
                simplifier.append(point)
            }
            // This loop writes nothing, so it checks whether the client has disconnected.
            try Task.checkCancellation()
        }
        return simplifier.pieces.enumerated().flatMap { index, piece in
            stride(from: 0, to: piece.count, by: PointPages.size).map { start in
                KeptPart(
                    isInterrupted: index > 0 && start == 0,
                    points: piece[start..<min(piece.count, start + PointPages.size)])
            }
        }
    }
}
