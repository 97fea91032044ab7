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
        let after = try query.after()
        var found: [ShownPosition]
        if wanted == nil, caller.reads == .all, caller.span == nil, let history = self.history {
            found = try await self.lastPositions(in: box, after: after, limit: limit + 1, history)
        } else {
            found = try await self.lastPositions(wanted, for: caller)
            if let box { found.removeAll { !box.contains($0.location.coordinate) } }
            if let after { found.removeAll { $0.trackable <= after } }
        }
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
    ) async throws(TrackingError) -> [ShownPosition] {
        var stored: [LastPosition] = []
        if caller.span == nil, let history = self.history {
            stored = try await history.lastPositions(of: wanted ?? caller.reads.named.map { Array($0) })
        }
        return Self.newest(stored, self.livePositions(wanted), for: caller)
    }

    /// Returns the first newest positions, recorded or live, after an id and inside an area, sorted by id. Reads only
    /// as many recorded ones as necessary.
    ///
    /// - Parameters:
    ///   - box: The area; `nil` for the whole world.
    ///   - after: The id after which the positions begin; `nil` for the first one.
    ///   - limit: The largest number of positions.
    private func lastPositions(
        in box: GeoBox?, after: TrackableID?, limit: Int, _ history: any HistoryStore
    ) async throws(TrackingError) -> [ShownPosition] {
        let everyone = Caller(name: "", reads: .all)
        let live = self.livePositions(nil).sorted { $0.trackable < $1.trackable }
        var rest = live[...].drop { place in after.map { place.trackable <= $0 } ?? false }
        var (found, last, isAtEnd): ([ShownPosition], TrackableID?, Bool) = ([], after, false)
        // Few positions of many may be in the area, so a query reads more rows than a small page needs.
        let rows = max(limit, 2_000)
        while found.count < limit, !isAtEnd {
            let stored = try await history.lastPositions(after: last, limit: rows)
            last = stored.last?.trackable
            isAtEnd = last == nil
            let part = rest.prefix { place in last.map { place.trackable <= $0 } ?? true }
            rest = rest.dropFirst(part.count)
            found += Self.newest(stored, Array(part), for: everyone).filter { place in
                box?.contains(place.location.coordinate) ?? true
            }
        }
        return Array(found.prefix(limit))
    }

    /// Returns the newer of the recorded and the live position of each trackable, as a caller may see it, sorted by id.
    private static func newest(
        _ stored: [LastPosition], _ live: [ShownPosition], for caller: Caller
    ) -> [ShownPosition] {
        var places: [TrackableID: ShownPosition] = [:]
        for place in stored {
            places[place.trackable] = ShownPosition(trackable: place.trackable, location: place.location)
        }
        for place in live
        where caller.reads.contains(place.trackable) && caller.sees(place.location.time) {
            if let stored = places[place.trackable], !place.replaces(stored) { continue }
            places[place.trackable] = caller.span == nil ? place : place.shared
        }
        return places.values.sorted { $0.trackable < $1.trackable }
    }

    private func livePositions(_ wanted: [TrackableID]?) -> [ShownPosition] {
        if let wanted {
            return wanted.compactMap { id in
                guard let known = self.live.known(id), let location = known.position else { return nil }
                return ShownPosition(trackable: id, location: location, enhancement: known.enhancement)
            }
        }
        let enhancements = self.live.enhancements()
        return self.live.positions().map { ShownPosition(trackable: $0, location: $1, enhancement: enhancements[$0]) }
    }

    private static func collection(_ places: ArraySlice<ShownPosition>, next: String?) -> ByteBuffer {
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
    var named: Set<TrackableID>? {
        switch self {
        case .all: nil
        case .only(let ids): ids
        }
    }
}

extension Caller {
    /// Returns `true` if the caller may read a record of the given time. Only share links are limited to a time span.
    fileprivate func sees(_ time: UnixTime) -> Bool { self.span?.contains(time) ?? true }
}

/// The last position of a trackable, as an answer of the API shows it.
struct ShownPosition: Hashable {
    var trackable: TrackableID
    var location: Location
    /// The match of the position with a road; `nil` for a position as its publisher published it.
    var enhancement: Enhancement?

    /// Returns `true` if this live position is newer than the recorded one, or on the road and as new.
    fileprivate func replaces(_ stored: ShownPosition) -> Bool {
        let (time, last) = (self.location.time, stored.location.time)
        return time > last || (time == last && self.enhancement != nil)
    }

    /// The position as a share link shows it.
    fileprivate var shared: ShownPosition {
        ShownPosition(trackable: self.trackable, location: self.location.shared, enhancement: self.enhancement?.shared)
    }

    /// The position as a GeoJSON Feature of the tracking protocol, with the trackable's id as its `id`. A position on the
    /// road has the member `enhanced`.
    var feature: [UInt8] {
        let road = self.enhancement.map { Array(#""enhanced":"#.utf8) + LocationCodec.encodeEnhancement($0) + [0x2C] }
        return Array(#"{"id":"#.utf8) + JSONValue.text(self.trackable.rawValue).json + Array(",".utf8) + (road ?? [])
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
