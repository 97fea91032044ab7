/// The decoded and checked content of one message about one trackable, ready to be stored.
public struct Recording: Hashable, Sendable {
    /// The trackable.
    public var trackable: TrackableID
    /// The arrival of the message by the recorder's clock. It serves to judge the clocks of points.
    public var receivedAt: UnixTime
    /// The points in the message. Points of Godwit's publishers have a stream and a `seq`; points of other publishers
    /// have neither.
    public var points: [Location] = []
    /// The versions of trips in the message.
    public var trips: [RecordedDocument<Trip>] = []
    /// The events in the message.
    public var events: [RecordedDocument<TrackingEvent>] = []
    /// The declaration about its stream that a batch contains.
    public var declaration: StreamDeclaration?
    /// A new presence or a new resolution in force.
    public var state: StateChange?

    /// Makes an empty recording.
    public init(of trackable: TrackableID, at receivedAt: UnixTime) {
        self.trackable = trackable
        self.receivedAt = receivedAt
    }
}

/// A decoded trip or event with its original JSON, which is stored unchanged.
public struct RecordedDocument<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The decoded value.
    public var value: Value
    /// The original JSON.
    public var json: [UInt8]

    /// Pairs a value with its original JSON.
    public init(_ value: Value, json: [UInt8]) {
        self.value = value
        self.json = json
    }
}

/// The declaration of a batch about its whole stream.
public struct StreamDeclaration: Hashable, Sendable {
    /// The stream.
    public var stream: StreamID
    /// The lowest number that the device still has.
    public var oldest: UInt64
    /// The ranges of numbers that the device no longer has.
    public var gone: [ClosedRange<UInt64>]
    /// The stream's last number; `nil` while the stream continues.
    public var end: UInt64?

    /// Makes a declaration.
    public init(stream: StreamID, oldest: UInt64 = 1, gone: [ClosedRange<UInt64>] = [], end: UInt64? = nil) {
        self.stream = stream
        self.oldest = oldest
        self.gone = gone
        self.end = end
    }
}

/// A new presence or a new resolution in force: a change of a retained message of a trackable.
public struct StateChange: Hashable, Sendable {
    /// The topic beneath the trackable's topic, for example `publisher/van-7`, `subscriber/desk` or `resolution`.
    public var name: String
    /// The JSON of the retained message; `nil` when it was cleared.
    public var json: [UInt8]?

    /// Makes a change.
    public init(_ name: String, json: [UInt8]?) {
        self.name = name
        self.json = json
    }
}

/// A message or record that cannot be accepted. It is quarantined with the reason, and the remaining messages are
/// processed.
public struct RefusedMessage: Hashable, Sendable {
    /// The topic of the message.
    public var topic: String
    /// The arrival of the message.
    public var receivedAt: UnixTime
    /// The trackable; `nil` when it cannot be read.
    public var trackable: TrackableID?
    /// The stream; `nil` when it cannot be read.
    public var stream: StreamID?
    /// The number in the stream; `nil` when it cannot be read. A quarantined record with a number counts as handled.
    public var seq: UInt64?
    /// The reason for the rejection.
    public var reason: String
    /// The payload, cut to ``maximumPayloadBytes``.
    public private(set) var payload: [UInt8]

    /// The maximum number of bytes stored of a quarantined payload.
    public static let maximumPayloadBytes = 16_384
    /// The maximum number of bytes stored of a topic.
    public static let maximumTopicBytes = 1024

    /// The reason recorded after a recorder reconnected and the broker had no session for it: messages of the time
    /// between may be lost. The entry has the topic root as its topic.
    public static let possibleGapReason =
        "the broker kept no session for this recorder: what came while it was away may be missing"

    /// Makes a message to quarantine; payload and topic are cut to their maximum sizes.
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
