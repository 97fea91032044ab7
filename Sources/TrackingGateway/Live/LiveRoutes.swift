import HTTPTypes
package import Hummingbird
import NIOCore
import TrackingCore
package import TrackingStore

/// The HTTP routes of live streams and of their clients' resolution requests: `GET /api/v1/live`, `POST` and `DELETE
/// /api/v1/trackables/{id}/resolution`.
package struct LiveRoutes: Sendable {
    private let hub: LiveHub
    private let history: (any HistoryStore)?

    /// Creates the routes of live streams.
    ///
    /// - Parameters:
    ///   - hub: The source of the updates. It also stores the most recent ones, from which an interrupted stream
    ///     resumes.
    ///   - history: The database of recorded points. After a longer interruption, a stream reads the updates from the
    ///     history that the hub no longer has; `nil` for no history.
    package init(hub: LiveHub, history: (any HistoryStore)? = nil) {
        self.hub = hub
        self.history = history
    }

    /// Adds the routes of live streams to a router.
    package func add(to router: Router<GatewayRequestContext>) {
        router.get("api/v1/live") { request, context in try self.live(request, context) }
        router.post("api/v1/trackables/:id/resolution") { request, context in
            let resolution = try await Self.resolution(request, context)
            return try self.ask(resolution, request, context)
        }
        router.delete("api/v1/trackables/:id/resolution") { request, context in
            try self.ask(nil, request, context)
        }
    }

    // MARK: - The stream

    private func live(_ request: Request, _ context: GatewayRequestContext) throws -> Response {
        let caller = try context.requireCaller()
        let query = try LiveQuery(request.uri.query.map { $0[...] } ?? "")
        var selection = LiveSelection(query.wanted, reads: caller.reads, span: caller.span, stop: caller.stop)
        // The counts include every trackable, so only a caller that may read all of them receives counts.
        if caller.reads == .all, caller.span == nil { selection.area = query.area }
        if case .these(let ids) = query.wanted, let id = ids.first(where: { !caller.reads.contains($0) }) {
            throw Problem(.forbidden, "This token may not read trackable '\(id)'.")
        }
        let last = request.headers[.lastEventID].flatMap { LiveEventID($0) } ?? query.last
        guard self.hub.hasRoom else {
            throw Problem(
                .serviceUnavailable, "The gateway has too many live streams: try again later.",
                headers: [.retryAfter: "10"])
        }
        let (shown, channel) = (selection, context.channel)
        return Response(
            status: .ok, headers: Self.headers,
            body: ResponseBody { writer in
                // The stream is opened with the response body, so that a response that is never written leaves no
                // stream behind.
                let opened = self.hub.open(shown, for: caller, after: last) { channel.close(promise: nil) }
                guard let stream = opened else { return try await writer.finish(nil) }
                PeerPatience.watch(channel) { stream.end(.closed) }
                throw OpenAnswer(writer, write: LiveWriter(stream: stream, hub: self.hub, history: self.history).write)
            })
    }

    private static let headers: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no",
    ]

    // MARK: - Requests

    private func ask(
        _ resolution: Resolution?, _ request: Request, _ context: GatewayRequestContext
    ) throws -> Response {
        let caller = try context.requireCaller()
        guard let text = context.parameters.get("id")?[...].percentDecoded else {
            throw Problem(.badRequest, "The id of the trackable in the path must be percent-encoded UTF-8.")
        }
        let id = try TrackableID(text)
        guard caller.reads.contains(id) else {
            throw Problem(.forbidden, "This token may not read trackable '\(id)'.")
        }
        if let resolution, caller.span != nil, resolution != .ofShareLinks {
            throw Problem(
                .forbidden,
                "A share link may request only this resolution: accuracy HIGH, desiredInterval 2000, minimumDisplacement 5."
            )
        }
        let query = try QueryParameters(of: request, allowing: ["stream"])
        guard let stream = query["stream"].flatMap({ LiveStreamID($0) }) else {
            throw Problem(
                .badRequest,
                "The request must name a live stream of its caller, as ?stream=ID; the stream's event 'hello' contains the id."
            )
        }
        do throws(LiveHub.RequestRefusal) {
            try self.hub.ask(resolution, for: id, by: stream, of: caller)
        } catch {
            throw Problem(error)
        }
        return Response(status: .noContent)
    }

    private static func resolution(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Resolution {
        let body = try await request.body(upTo: 4096, context)
        let value = try explained { () throws(TrackingError) in
            let value = try JSONValue(json: body.readableBytesView)
            try value.checkMembers(["accuracy", "desiredInterval", "minimumDisplacement"], of: "the resolution")
            return value
        }
        guard let accuracy = value["accuracy"]?.text.flatMap({ Resolution.Accuracy(rawValue: $0) }),
            let interval = value["desiredInterval"]?.number, (0...1e11).contains(interval),
            let displacement = value["minimumDisplacement"]?.number
        else {
            throw Problem(
                .badRequest,
                "The body must be a resolution: accuracy (MINIMUM, LOW, BALANCED, HIGH or MAXIMUM), desiredInterval (ms) and minimumDisplacement (m)."
            )
        }
        return try Resolution(
            accuracy: accuracy, desiredInterval: .milliseconds(Int64(interval)),
            minimumDisplacement: Meters(displacement))
    }
}

extension Resolution {
    /// The only resolution that the holder of a share link may request for the shared trackable. The script of the map
    /// page requests the same resolution (`SHARED` in `Page/live.js`).
    static var ofShareLinks: Resolution {
        // Every member is in range.
        try! Resolution(accuracy: .high, desiredInterval: .seconds(2), minimumDisplacement: 5)
    }
}

extension Problem {
    fileprivate init(_ refusal: LiveHub.RequestRefusal) {
        switch refusal {
        case .noStream:
            self.init(.conflict, "The live stream has ended or belongs to another caller: open a live stream first.")
        case .unknownTrackable: self.init(.notFound, "The gateway has received no message about this trackable.")
        case .tooMany:
            self.init(
                .tooManyRequests,
                "A live stream can request resolutions for at most \(RequestPool.maximumTrackables) trackables: withdraw another one first."
            )
        }
    }
}

extension HTTPField.Name {
    /// The header with the id of the last received event, which clients of server-sent events send when they resume.
    fileprivate static var lastEventID: Self { Self("Last-Event-ID")! }  // a token, as names are
    /// The header that prevents nginx from buffering a live stream.
    fileprivate static var accelBuffering: Self { Self("X-Accel-Buffering")! }  // a token, as names are
}
