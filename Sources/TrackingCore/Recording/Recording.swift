/// What one message brought to one trackable, read and checked: what is to be stored of it.
public struct Recording: Hashable, Sendable {
    /// Whose it is.
    public var trackable: TrackableID
    /// When the recorder got the message; a point's clock is judged by it.
    public var receivedAt: UnixTime
    /// Points with a stream and a `seq`, and those of other people's publishers, without.
    public var points: [Location] = []
    /// Versions of trips.
    public var trips: [RecordedDocument<Trip>] = []
    /// Events.
    public var events: [RecordedDocument<TrackingEvent>] = []
    /// What a batch says of its stream.
    public var declaration: StreamDeclaration?
    /// A presence or a resolution, as it stands from now on.
    public var state: StateChange?

    /// Makes a recording of nothing.
    public init(of trackable: TrackableID, at receivedAt: UnixTime) {
        self.trackable = trackable
        self.receivedAt = receivedAt
    }
}

/// A trip or an event, and the JSON that it came as, which is stored as it is.
public struct RecordedDocument<Value: Hashable & Sendable>: Hashable, Sendable {
    /// As it was read.
    public var value: Value
    /// As it came.
    public var json: [UInt8]

    /// Pairs a value with the JSON that it came as.
    public init(_ value: Value, json: [UInt8]) {
        self.value = value
        self.json = json
    }
}

/// What a batch says of its stream as a whole.
public struct StreamDeclaration: Hashable, Sendable {
    /// Which stream.
    public var stream: StreamID
    /// Nothing below it is left on the device.
    public var oldest: UInt64
    /// What the device no longer has.
    public var gone: [ClosedRange<UInt64>]
    /// The stream's last number, once that is known.
    public var end: UInt64?

    /// Makes a declaration.
    public init(stream: StreamID, oldest: UInt64 = 1, gone: [ClosedRange<UInt64>] = [], end: UInt64? = nil) {
        self.stream = stream
        self.oldest = oldest
        self.gone = gone
        self.end = end
    }
}

/// What stands on a topic of a trackable from a moment on: who is present, or the resolution in force.
public struct StateChange: Hashable, Sendable {
    /// The topic beneath the trackable's: `publisher/van-7`, `subscriber/desk`, `resolution`.
    public var name: String
    /// The JSON that stands there; `nil` when it was cleared.
    public var json: [UInt8]?

    /// Makes a change.
    public init(_ name: String, json: [UInt8]?) {
        self.name = name
        self.json = json
    }
}

/// A message, or one record of it, that cannot be accepted: it is set aside with the reason, and never stops the rest.
public struct RefusedMessage: Hashable, Sendable {
    /// The topic that it came on.
    public var topic: String
    /// When it came.
    public var receivedAt: UnixTime
    /// Whose it is, where that can be read.
    public var trackable: TrackableID?
    /// Its stream, where that can be read.
    public var stream: StreamID?
    /// Its number in the stream, where that can be read: with it, the record counts as handled.
    public var seq: UInt64?
    /// Why.
    public var reason: String
    /// As it came, at most ``maximumPayloadBytes`` of it.
    public private(set) var payload: [UInt8]

    /// So much of a message that is set aside is kept.
    public static let maximumPayloadBytes = 16_384
    /// So much of a topic is kept.
    public static let maximumTopicBytes = 1024

    /// A recorder was away, and the broker kept no session for it: what came meanwhile may be missing. It is noted as a message on
    /// the root of the topics, with this reason.
    public static let possibleGapReason =
        "the broker kept no session for this recorder: what came while it was away may be missing"

    /// Makes a message to be set aside; a longer payload or topic is cut.
    public init(
        topic: String, receivedAt: UnixTime, trackable: TrackableID? = nil, stream: StreamID? = nil, seq: UInt64? = nil,
        reason: String, payload: some Collection<UInt8>
    ) {
        self.topic = String(decoding: topic.utf8.prefix(Self.maximumTopicBytes), as: UTF8.self)
        self.receivedAt = receivedAt
        self.trackable = trackable
        self.stream = stream
        self.seq = seq
        self.reason = reason
        self.payload = Array(payload.prefix(Self.maximumPayloadBytes))
    }
}
