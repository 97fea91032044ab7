import HTTPTypes
package import Hummingbird
import Logging
import NIOCore
package import TrackingCore
import TrackingRules
import TrackingRuntime

/// The HTTP routes that accept the records of phones: Overland's requests, OwnTracks' messages, NextBillion.ai's
/// `LocationData`, and GeoJSON (`docs/reference/phones.md`).
package struct PhoneRoutes: Sendable {
    /// A function that makes the records of a trackable durable. It returns once the broker has acknowledged them and
    /// the configured recorders have stored them.
    package typealias Take = @Sendable (TrackableID, PhoneBatch) async throws(TrackingError) -> Void

    /// A function that returns OwnTracks messages about other trackables, for the answer to an OwnTracks phone. Its
    /// parameters are the caller and the phone's own trackable.
    package typealias Friends = @Sendable (Caller, TrackableID) async -> [JSONValue]

    /// The settings of the HTTP routes for phones: the paths for Overland, the keys of OwnTracks, and the broker's
    /// address.
    package struct Configuration: Sendable {
        /// The HTTP paths on which the gateway accepts the requests of the app Overland.
        package var overlandPaths = OverlandPaths()
        /// The keys with which phones encrypt their OwnTracks messages, by trackable.
        package var secrets: [TrackableID: OwnTracksSecret] = [:]
        /// The address of the broker, such as `mqtts://host:port`, for an agent, the publisher on a device. An agent
        /// that asks for its access gets this address in the gateway's answer; `nil` omits it.
        package var broker: String?

        /// Creates the default settings of the routes for phones: the path `/overland`, no keys, and no broker's
        /// address.
        package init() {}
    }

    private let configuration: Configuration
    private let quarantine: Quarantine
    private let take: Take
    private let friends: Friends
    private let commands: PhoneCommandDesk?
    private let clock = DeviceClock()

    /// Creates the HTTP routes for the phones of one gateway.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the routes.
    ///   - quarantine: Stores the invalid pieces of requests.
    ///   - friends: Returns the messages about other trackables for OwnTracks.
    ///   - commands: Commands for phones; `nil` if the gateway accepts none.
    ///   - take: Makes records durable.
    init(
        configuration: Configuration = Configuration(), quarantine: Quarantine,
        friends: @escaping Friends = { _, _ in [] }, commands: PhoneCommandDesk? = nil, take: @escaping Take
    ) {
        self.configuration = configuration
        self.quarantine = quarantine
        self.friends = friends
        self.commands = commands
        self.take = take
    }

    /// Adds the routes for phones to a router, and the route by which an administrator reads the quarantine.
    package func add(to router: Router<GatewayRequestContext>) {
        for path in self.configuration.overlandPaths.all {
            router.post(RouterPath(path)) { request, context in
                try await self.answer(request, context) { request, time, secret throws(TrackingError) in
                    try OverlandDecoder.decode(request.body, receivedAt: time, secret: secret)
                }
            }
            router.get(RouterPath(path)) { _, context in self.introduction(to: try context.requireCaller()) }
        }
        router.post("owntracks") { request, context in
            try await self.answer(request, context, as: .ownTracks) { request, time, secret throws(TrackingError) in
                // Overland uses this route too, in its OwnTracks mode.
                try OwnTracksDecoder.decode(
                    request.body, receivedAt: time, secret: secret, countsFrom2001: request.client == .overland)
            }
        }
        router.post("nextbillion") { request, context in
            try await self.answer(request, context) { request, _, _ throws(TrackingError) in
                try NextBillionDecoder.decode(request.body)
            }
        }
        router.post("skynet/asset/:id/track") { request, context in
            try await self.answer(request, context, as: .nextBillion) { request, _, _ throws(TrackingError) in
                try NextBillionDecoder.decode(request.body)
            }
        }
        router.post("points") { request, context in
            try await self.answer(request, context) { request, _, _ throws(TrackingError) in
                try PointsDecoder.decode(request.body)
            }
        }
        router.get("api/v1/quarantine") { request, context in try await self.refused(request, context) }
    }

    // MARK: Ingest

    private typealias Decode = (PhoneRequest, UnixTime, OwnTracksSecret?) throws(TrackingError) -> PhoneBatch

    /// Answers the request of a phone: decodes its records, makes them durable, and quarantines its invalid pieces.
    ///
    /// - Parameters:
    ///   - client: The expected program, unless `User-Agent` or the body identifies another.
    ///   - decode: Decodes the records of the request.
    private func answer(
        _ request: Request, _ context: GatewayRequestContext, as client: PhoneClient = .other, _ decode: Decode
    ) async throws -> Response {
        let request = try await PhoneRequest(request, context, as: client)
        let now = self.clock.moment.wall
        let trackable: TrackableID
        switch request.trackable {
        case .success(let id): trackable = id
        case .failure(let error): return Response(PhoneAnswer.notTaken(error, by: request.client))
        }
        do throws(TrackingError) {
            let batch: PhoneBatch
            do {
                batch = try decode(request, now, self.configuration.secrets[trackable])
            } catch {
                let whole = RefusedPiece(reason: error.message, bytes: request.body)
                try await self.quarantine.add([whole], of: trackable, from: request.userAgent, at: now)
                return Response(PhoneAnswer.unreadable(error, by: request.client))
            }
            try await self.keep(batch, of: trackable, request, now, context)
            return await self.taken(batch, of: trackable, request, context)
        } catch {
            return Response(PhoneAnswer.notTaken(error, by: request.client))
        }
    }

    /// Returns the answer to a request whose records are durable. For OwnTracks it contains friends and commands, for
    /// Overland settings to change.
    private func taken(
        _ batch: PhoneBatch, of trackable: TrackableID, _ request: PhoneRequest, _ context: GatewayRequestContext
    ) async -> Response {
        let delivery = self.commands?.take(for: trackable, by: request.client) ?? PendingCommands.Delivery()
        var messages = delivery.messages
        if request.client == .ownTracks, let caller = context.caller {
            messages = await self.friends(caller, trackable) + messages
        }
        let secret = batch.isEncrypted ? self.configuration.secrets[trackable] : nil
        return Response(
            PhoneAnswer.taken(
                batch, by: request.client, messages: messages, settings: delivery.settings, secret: secret))
    }

    /// Makes the records of a request durable, and only then stores its invalid pieces in the quarantine. If the
    /// records fail, the phone repeats the request, and the pieces are not stored twice.
    private func keep(
        _ batch: PhoneBatch, of trackable: TrackableID, _ request: PhoneRequest, _ now: UnixTime,
        _ context: GatewayRequestContext
    ) async throws(TrackingError) {
        if !batch.records.isEmpty { try await self.take(trackable, batch) }
        guard !batch.refused.isEmpty else { return }
        context.logger.debug(
            "Gateway puts invalid parts of a phone's request into its quarantine and publishes the rest",
            metadata: ["trackable": "\(trackable)", "count": "\(batch.refused.count)"])
        try await self.quarantine.add(batch.refused, of: trackable, from: request.userAgent, at: now)
    }

    // MARK: Answers

    /// Returns the answer to an app or agent that asks for its access before it sends records. The answer contains the
    /// caller's name. If the token may publish exactly one trackable, it also contains this trackable, the user and the
    /// broker's address.
    private func introduction(to caller: Caller) -> Response {
        var members: [String: JSONValue] = ["name": .text(caller.name)]
        if case .only(let ids) = caller.publishes, ids.count == 1, let id = ids.first {
            members["trackable"] = .text(id.rawValue)
            members["user"] = .text(caller.name)
            members["broker"] = self.configuration.broker.map { .text($0) }
        }
        return .json(.object(members))
    }

    /// Returns the quarantined pieces for an administrator: the newest 100, or the newest 100 below the number in
    /// `?before=NUMBER`.
    private func refused(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        guard let caller = context.caller else { throw Problem.unauthorized }
        try caller.checkIsAdmin()
        let query = try QueryParameters(of: request, allowing: ["before"])
        let before = try query["before"].map { text throws(Problem) in
            guard let number = Int64(text), number >= 1 else {
                throw Problem(
                    .badRequest,
                    "The parameter 'before' must be the number of a quarantined part of a request, 1 or more, not '\(text.prefix(80))'."
                )
            }
            return number
        }
        let entries = try await self.quarantine.entries(limit: 100, below: before ?? .max)
        return .json(.object(["quarantine": .list(entries.map(\.json))]))
    }
}

extension Quarantine.Entry {
    fileprivate var json: JSONValue {
        .object([
            "number": .number(Double(self.number)), "trackable": .text(self.trackable), "client": .text(self.client),
            "reason": .text(self.reason), "content": .text(String(decoding: self.bytes, as: UTF8.self)),
            "first": .number(self.first.seconds), "last": .number(self.last.seconds),
            "times": .number(Double(self.times)),
        ])
    }
}

extension Response {
    /// Creates the HTTP response from the status and the JSON body of an answer to a phone.
    init(_ answer: PhoneAnswer) {
        self = .json(answer.body, status: HTTPResponse.Status(code: answer.status))
    }
}
