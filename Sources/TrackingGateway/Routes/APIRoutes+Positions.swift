import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import TrackingCore
import TrackingStore

/// The API routes that answer with the last positions of trackables.
extension APIRoutes {
    /// The largest number of positions in one answer.
    static let maximumPositions = 10_000

    /// Answers with a page of last positions as a GeoJSON FeatureCollection. They are those of all trackables that the
    /// caller may read, or of the trackables in the query, and only those inside the area `bbox` if the query has one.
    func positions(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        let query = try self.query(request, "trackables", "trackable", "bbox", "limit", "after")
        let wanted = try query.trackables().map { Array($0) }
        for id in wanted ?? [] { try caller.checkReads(id) }
        let box = try query.box()
        let limit = try query.whole("limit", in: 1...Self.maximumPositions) ?? Self.maximumPositions
        var found = try await self.lastPositions(wanted, for: caller)
        if let box { found.removeAll { !box.contains($0.location.coordinate) } }
        if let after = try query.after() { found.removeAll { $0.trackable <= after } }
        let next = found.count > limit ? found[limit - 1].trackable.rawValue : nil
        return request.tagged(Self.collection(found.prefix(limit), next: next), "application/geo+json")
    }

    /// Answers with the last position of one trackable, as a GeoJSON Feature.
    func position(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        _ = try self.query(request)
        guard let place = try await self.lastPositions([id], for: try context.requireCaller()).first else {
            throw Problem(.notFound, "The gateway knows no position of this trackable.")
        }
        return request.tagged(ByteBuffer(bytes: place.feature), "application/geo+json")
    }

    /// Returns the newest position of each trackable, recorded or live, sorted by id. A share link sees only live
    /// positions within its time span.
    ///
    /// - Parameters:
    ///   - wanted: The trackables; `nil` for all that the caller may read.
    ///   - caller: The caller of the request.
    func lastPositions(
        _ wanted: [TrackableID]?, for caller: Caller
    ) async throws(TrackingError) -> [LastPosition] {
        var places: [TrackableID: Location] = [:]
        if caller.span == nil, let history = self.history {
            for place in try await history.lastPositions(of: wanted ?? caller.reads.named) {
                places[place.trackable] = place.location
            }
        }
        let known =
            wanted.map { ids in ids.compactMap { id in self.live.known(id)?.position.map { (id, $0) } } }
            ?? self.live.positions().map { ($0, $1) }
        for (id, location) in known where caller.reads.contains(id) && caller.sees(location.time) {
            if let stored = places[id], stored.time >= location.time { continue }
            places[id] = caller.span == nil ? location : location.shared
        }
        return places.map { LastPosition(trackable: $0, location: $1) }
            .sorted { $0.trackable < $1.trackable }
    }

    private static func collection(_ places: ArraySlice<LastPosition>, next: String?) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(64 + 400 * places.count)
        buffer.writeString(#"{"type":"FeatureCollection","features":["#)
        for place in places {
            if place != places.first { buffer.writeString(",\n") }
            buffer.writeBytes(place.feature)
        }
        buffer.writeString("]")
        if let next {
            buffer.writeString(#","next":"#)
            buffer.writeBytes(JSONValue.text(next).json)
        }
        buffer.writeString("}\n")
        return buffer
    }
}

extension TrackableScope {
    /// The trackables to which a caller's permission applies; `nil` if the permission applies to every trackable.
    fileprivate var named: [TrackableID]? {
        switch self {
        case .all: nil
        case .only(let ids): Array(ids)
        }
    }
}

extension Caller {
    /// Returns `true` if the caller may read a record of the given time. Only share links are limited to a time span.
    fileprivate func sees(_ time: UnixTime) -> Bool { self.span?.contains(time) ?? true }
}

extension LastPosition {
    /// The position as a GeoJSON Feature of the tracking protocol, with the trackable's id as its `id`.
    var feature: [UInt8] {
        Array(#"{"id":"#.utf8) + JSONValue.text(self.trackable.rawValue).json + Array(",".utf8)
            + LocationCodec.encodeFeature(self.location).dropFirst()
    }
}

extension Request {
    /// Returns an answer with an entity tag that is computed from its body. If the client has the same body already,
    /// the answer is 304 without a body (RFC 9110, section 13.1.2).
    func tagged(_ body: ByteBuffer, _ type: String) -> Response {
        let tag = EntityTag.text(of: Array(body.readableBytesView))
        let headers: HTTPFields = [.contentType: type, .eTag: tag, .cacheControl: "private, no-cache"]
        if EntityTag.isNamed(tag, in: self.headers[values: .ifNoneMatch]) {
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}
