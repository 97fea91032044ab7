/// The encoding of presences, liveness messages, resolution requests, resolutions in force, trips and events.
/// ``LocationCodec`` encodes fixes.
public enum MessageCodec {
    /// Encodes a presence, the announcement that a publisher or subscriber is present on a trackable. Leaves out
    /// metadata that breaks the rule of ``Presence/metadata``, because readers would reject the presence.
    public static func encode(_ presence: Presence) -> [UInt8] {
        var writer = JSONWriter(capacity: 192)
        writer.raw("{")
        writer.member("type", presence.kind.rawValue)
        writer.member("session", presence.session.rawValue)
        writer.member("connection", presence.connection)
        writer.member("lease", Self.seconds(ofLease: presence.lease))
        writer.member("since", presence.since.seconds, .time)
        writer.member("stream", presence.stream?.rawValue)
        writer.member("rawLocations", presence.rawLocations)
        if let metadata = presence.metadata, metadata.isMetadata { writer.member("metadata", metadata) }
        writer.member("sendsResolution", presence.sendsResolution)
        writer.raw("}")
        return writer.bytes
    }

    /// Encodes a liveness message, the announcement that a client is connected or has left.
    public static func encode(_ liveness: Liveness) -> [UInt8] {
        var writer = JSONWriter(capacity: 128)
        writer.raw("{")
        switch liveness.status {
        case .online: writer.member("status", "online")
        case .offline: writer.member("status", "offline")
        }
        writer.member("session", liveness.session.rawValue)
        writer.member("connection", liveness.connection)
        switch liveness.status {
        case .online(let lease): writer.member("lease", Self.seconds(ofLease: lease))
        case .offline: writer.member("remain", liveness.remainsPresentFor.map(Self.seconds(ofLease:)))
        }
        if let group = liveness.group { writer.member("group", group) }
        writer.raw("}")
        return writer.bytes
    }

    /// Encodes a subscriber's request for a resolution.
    public static func encode(_ request: ResolutionRequest) -> [UInt8] {
        var writer = JSONWriter(capacity: 192)
        writer.raw("{")
        writer.member("session", request.session.rawValue)
        writer.member("resolution", request.resolution)
        writer.raw("}")
        return writer.bytes
    }

    /// Encodes a publisher's message about the resolution that it uses now for a trackable.
    public static func encode(_ resolution: ResolutionInForce) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.raw("{")
        writer.member("resolution", resolution.resolution)
        writer.member("near", resolution.isNear)
        writer.member("subscribers", resolution.subscribers)
        writer.member("lowBattery", resolution.isLowBattery)
        writer.member("state", resolution.state.rawValue)
        writer.member("filter", resolution.filter.rawValue)
        writer.member("maximumSilence", resolution.maximumSilence.inMilliseconds)
        if let approach = resolution.approach { writer.members(approach) }
        writer.raw("}")
        return writer.bytes
    }

    /// Encodes an event. The members of its detail are ordered by name.
    public static func encode(_ event: TrackingEvent) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.raw("{")
        writer.member("id", event.id)
        writer.member("stream", event.stream.rawValue)
        writer.member("seq", event.seq)
        writer.member("time", event.time.seconds, .time)
        writer.member("kind", event.kind.rawValue)
        writer.name("detail")
        writer.object(event.detail)
        if let location = event.location {
            writer.name("location")
            writer.feature(location)
        }
        writer.raw("}")
        return writer.bytes
    }

    /// Returns a lease in whole seconds, limited to the range from 1 to 86,400. A lease is the time after which a silent
    /// client counts as gone.
    private static func seconds(ofLease lease: Duration) -> Int64 {
        max(1, min(86_400, lease.components.seconds))
    }
}

extension JSONWriter {
    /// Writes a geographic position, `[longitude, latitude]`.
    mutating func place(_ place: Coordinate) {
        self.raw("[")
        self.number(place.longitude)
        self.raw(",")
        self.number(place.latitude)
        self.raw("]")
    }

    fileprivate mutating func members(_ approach: Approach) {
        self.name("destination")
        self.place(approach.destination)
        self.member("distance", approach.distance?.value, .notNegative)
        self.member("timeToArrival", approach.timeToArrival?.inSeconds, .notNegative)
    }

    fileprivate mutating func member(_ name: StaticString, _ resolution: Resolution) {
        self.name(name)
        self.raw("{")
        self.member("accuracy", resolution.accuracy.rawValue)
        self.member("desiredInterval", resolution.desiredInterval.inMilliseconds)
        self.member("minimumDisplacement", resolution.minimumDisplacement.value, .notNegative)
        self.raw("}")
    }
}
