import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import TrackingCore
import TrackingHistory
import TrackingRuntime

/// The HTTP routes with which administrators list, create and revoke share links.
extension AdminRoutes {
    /// Answers with a page of the share links, of all trackables or of the one in the query, the newest first.
    func shares(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let query = try self.administrator(request, context, allowing: ["trackable", "limit", "before"]).query
        let trackable = try explained { () throws(TrackingError) in
            try query["trackable"].map { (text) throws(TrackingError) in try TrackableID(text) }
        }
        let limit = try query.whole("limit", in: 1...1000) ?? 1000
        let before = try query.whole("before", in: 1...Int.max)
        let found = try await self.access.shares(
            of: trackable, below: before.map { Int64($0) } ?? .max, limit: limit + 1)
        let now = self.clock.moment.wall
        var members: [String: JSONValue] = [
            "shares": .list(found.prefix(limit).map { .object($0.shareMembers(at: now)) })
        ]
        if found.count > limit { members["next"] = .number(Double(found[limit - 1].number)) }
        return request.tagged(ByteBuffer(bytes: JSONValue.object(members).json), "application/json")
    }

    /// Creates a share link, and answers with it. The gateway cannot show the link again.
    func postShare(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let json = try await self.json(request, context, upTo: 4096, members: ["trackable", "for", "stop"])
        guard let text = json["trackable"]?.text, let span = json["for"]?.text,
            json["stop"].map({ $0.text != nil }) ?? true
        else {
            throw Problem(
                .badRequest,
                "The body must be a JSON object with the strings 'trackable' (an id) and 'for' (the lifetime of the link), such as {\"trackable\":\"van-7\",\"for\":\"2h\"}. It may have the string 'stop' (the id of a stop of the journey)."
            )
        }
        let (id, time) = try explained { () throws(TrackingError) in
            (try TrackableID(text), try HistoryTime.span(span))
        }
        try await self.checkIsKnown(id)
        let stop = json["stop"]?.text
        if let stop { try self.checkStop(stop, of: id) }
        let now = self.clock.moment.wall
        let made = try await self.access.acting(as: administrator.actor).makeShare(
            of: id, from: now, for: time, stop: stop)
        var members = made.grant.shareMembers(at: now)
        members["url"] = .text("\(self.address(in: request))/s/\(made.secret.text)")
        return .json(.object(members), status: .created)
    }

    /// Checks the id of a stop. If the journey of the trackable is known, it must have the stop. Otherwise a later
    /// journey may have it.
    ///
    /// - Throws: `Problem` (400) that names the stops of the journey.
    private func checkStop(_ stop: String, of id: TrackableID) throws(Problem) {
        try explained { () throws(TrackingError) in try Journey.Stop.checkID(stop) }
        guard let journey = self.live.known(id)?.progress.journey, journey.stop(stop) == nil else { return }
        throw Problem(
            .badRequest, "The journey of this trackable has no stop '\(stop)'. Its stops are \(journey.stopIDs).")
    }

    /// Revokes the share link with the number in the request's path. Answers 404 if there is no such link, or if it was
    /// revoked before.
    func deleteShare(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        guard let number = context.parameters.get("number").flatMap({ Int64($0) }) else {
            throw Problem(.badRequest, "The number of the share link in the path must be a whole number.")
        }
        let access = self.access.acting(as: administrator.actor)
        guard try await access.revokeShare(number, now: self.clock.moment.wall) else {
            throw Problem(
                .notFound, "There is no valid share link with this number: it does not exist, or it was revoked.")
        }
        return Response(status: .noContent)
    }

    /// Returns the address of the gateway for a link: the configured one, otherwise that of the request.
    private func address(in request: Request) -> String {
        if let url = self.configuration.url { return url }
        let scheme = request.headers[.forwardedProtocol] == "https" ? "https" : "http"
        return "\(scheme)://\(request.head.authority ?? "127.0.0.1")"
    }
}

extension AccessGrant {
    /// The description of a share link as members of a JSON object of the HTTP API: number, trackable, times and
    /// validity, without the secret.
    fileprivate func shareMembers(at now: UnixTime) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "number": .number(Double(self.number)), "begins": .number(self.begins.seconds),
            "state": .text(self.state(at: now).rawValue),
        ]
        if case .only(let ids) = self.reads { members["trackable"] = ids.first.map { .text($0.rawValue) } }
        members["ends"] = self.ends.map { .number($0.seconds) }
        members["stop"] = self.stop.map { .text($0) }
        return members
    }
}
