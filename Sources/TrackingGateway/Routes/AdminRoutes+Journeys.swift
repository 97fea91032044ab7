import Hummingbird
import HummingbirdCore
import TrackingCore
import TrackingRules

/// The HTTP routes with which administrators set and clear journeys.
extension AdminRoutes {
    /// Sets the journey of a known trackable, in place of the one before it, and answers with it once the broker has
    /// stored it.
    func putJourney(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let desk = try self.requireJourneyDesk()
        let id = try context.readableTrackable()
        let journey = try await self.journey(request, context)
        try await self.checkIsKnown(id)
        return try await desk.exclusively(id) {
            let present = self.live.known(id)?.progress.journeyJSON
            guard administrator.condition.allows(present) else {
                return try self.answer(present == nil ? .missing : .refused, of: "journey")
            }
            try await self.audit.add(.setJourney, id.rawValue, by: administrator.actor)
            try await desk.set(journey, of: id)
            let outcome: RuleStore.Outcome = present == nil ? .created : .replaced
            return try self.answer(outcome, of: "journey", MessageCodec.json(of: journey))
        }
    }

    /// Clears the journey of a trackable. Answers 404 if it has none.
    func deleteJourney(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let desk = try self.requireJourneyDesk()
        let id = try context.readableTrackable()
        return try await desk.exclusively(id) {
            guard let present = self.live.known(id)?.progress.journeyJSON else { throw Problem.noJourney }
            guard administrator.condition.allows(present) else { return try self.answer(.refused, of: "journey") }
            try await self.audit.add(.clearJourney, id.rawValue, by: administrator.actor)
            try await desk.set(nil, of: id)
            return try self.answer(.removed, of: "journey")
        }
    }

    /// Returns the journey in the body of a request, which has the form of the message.
    ///
    /// - Throws: `Problem`: 413 for a body or a journey of more than 32 KiB, 400 for one that readers would reject, and
    ///   for an unknown member, which they would ignore.
    private func journey(_ request: Request, _ context: GatewayRequestContext) async throws -> Journey {
        let limit = min(WireLimits.maximumDocumentBytes, context.maxUploadSize)
        let body = try await request.body(upTo: limit, context)
        do throws(TrackingError) {
            let journey = try MessageCodec.decodeJourney(body.readableBytesView)
            _ = try MessageCodec.encode(journey)
            let json = try JSONValue(json: body.readableBytesView)
            try json.checkMembers(["stops", "profile"], of: "the journey")
            for stop in json["stops"]?.list ?? [] {
                try stop.checkMembers(["id", "name", "location", "radius", "planned"], of: "the stop")
            }
            return journey
        } catch {
            throw Problem(
                error.code == .payloadTooLarge ? .contentTooLarge : .badRequest,
                "The body of the request is not a journey: \(error.message).")
        }
    }

    private func requireJourneyDesk() throws(Problem) -> JourneyDesk {
        guard let desk = self.journeys else {
            throw Problem(
                .forbidden,
                "This gateway sets no journeys: its operator must start godwit serve with --allow-commands.")
        }
        return desk
    }
}

extension Problem {
    /// The answer (404) to a request about the journey of a trackable that has none.
    static let noJourney = Problem(.notFound, "The trackable has no journey.")
}
