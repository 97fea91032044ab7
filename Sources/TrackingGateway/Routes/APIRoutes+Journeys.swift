import HTTPTypes
import Hummingbird
import NIOCore
import TrackingCore

/// The API routes of journeys and of the estimated arrival times at their stops.
extension APIRoutes {
    /// Answers with a page of the journeys that the caller may read, by the ids of the trackables.
    func journeys(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        try caller.checkReadsJourneys()
        let query = try self.query(request, "limit", "after")
        let limit = try query.whole("limit", in: 1...1000) ?? 1000
        let after = try query.after()
        let found = self.live.journeys().filter { id, _ in caller.reads.contains(id) && after.map { $0 < id } ?? true }
        let page = found.sorted { $0.key < $1.key }.prefix(limit)
        var buffer = ByteBuffer(string: #"{"journeys":{"#)
        for (number, (id, journey)) in page.enumerated() {
            if number > 0 { buffer.writeString(",") }
            buffer.writeBytes(JSONValue.text(id.rawValue).json + Array(":".utf8) + MessageCodec.json(of: journey))
        }
        buffer.writeString("}")
        if found.count > limit, let last = page.last {
            buffer.writeBytes(Array(#","next":"#.utf8) + JSONValue.text(last.key.rawValue).json)
        }
        buffer.writeString("}")
        return request.tagged(buffer, "application/json")
    }

    /// Answers with the journey of a trackable.
    func journey(_ request: Request, _ context: GatewayRequestContext) throws -> Response {
        let id = try context.readableTrackable()
        try context.requireCaller().checkReadsJourneys()
        _ = try self.query(request)
        guard let journey = self.live.known(id)?.progress.journeyJSON else { throw Problem.noJourney }
        return request.tagged(ByteBuffer(bytes: journey), "application/json")
    }

    /// Answers with the estimated arrival times at the stops of a trackable's journey. A share link gets only that at
    /// its own stop.
    func estimate(_ request: Request, _ context: GatewayRequestContext) throws -> Response {
        let id = try context.readableTrackable()
        let caller = try context.requireCaller()
        _ = try self.query(request)
        let progress = self.live.known(id)?.progress ?? JourneyProgress()
        let shared = caller.span.map { SharedEstimate(progress, stop: caller.stop, during: $0)?.json }
        guard let estimate = shared ?? progress.estimateJSON else {
            throw Problem(
                .notFound, "The trackable has no estimate: it has no journey, or no godwit enhance is at work.")
        }
        return request.tagged(ByteBuffer(bytes: estimate), "application/json")
    }
}

extension Caller {
    /// Checks that the caller may read journeys, of which a share link shows only one stop.
    ///
    /// - Throws: `Problem` (403) if the caller uses a share link.
    fileprivate func checkReadsJourneys() throws(Problem) {
        guard self.span == nil else {
            throw Problem(
                .forbidden, "A share link shows the arrival at one stop, and not the journey.")
        }
    }
}
