/// The content of one message about one trackable, decoded and checked, ready to be stored.
public struct Recording: Hashable, Sendable {
    /// The trackable that the topic of the message names.
    public var trackable: TrackableID
    /// The time at which the recorder received the message, by the recorder's clock. The times of the points are
    /// compared with it, to find points with wrong clocks.
    public var receivedAt: UnixTime
    /// The points in the message. Points of Godwit's publishers have a stream and a number in it (`seq`). Points of
    /// other publishers may have neither.
    public var points: [Location] = []
    /// The versions of trips in the message. Each change of a trip is a new version of it.
    public var trips: [RecordedDocument<Trip>] = []
    /// The events (occurrences such as `LOW_BATTERY`) in the message.
    public var events: [RecordedDocument<TrackingEvent>] = []
    /// The statement of a batch about its stream: which records the device still has. `nil` if the message is not a
    /// batch.
    public var declaration: StreamDeclaration?
    /// The new content of a retained message, if the message is one: a presence (which announces a client on the
    /// trackable) or the resolution in force.
    public var state: StateChange?

    /// Makes the content of a message about a trackable, without points, trips, events or other parts yet.
    public init(of trackable: TrackableID, at receivedAt: UnixTime) {
        self.trackable = trackable
        self.receivedAt = receivedAt
    }
}

/// A trip or an event, decoded, together with its original JSON. The original JSON is stored unchanged.
public struct RecordedDocument<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The decoded trip or event.
    public var value: Value
    /// The original JSON of the trip or event.
    public var json: [UInt8]

    /// Makes a recorded document from a decoded trip or event and the JSON from which it was decoded.
    public init(_ value: Value, json: [UInt8]) {
        self.value = value
        self.json = json
    }
}

/// The statement of a device, in a batch of records, about the whole stream of these records: which records it still
/// has. A stream is one life of the device's log.
public struct StreamDeclaration: Hashable, Sendable {
    /// The id of the stream of records about which the device makes the statement.
    public var stream: StreamID
    /// The lowest record number of the stream that the device still has in its log.
    public var oldest: UInt64
    /// The ranges of record numbers that the device no longer has and will never send.
    public var gone: [ClosedRange<UInt64>]
    /// The last record number of the stream, if the stream has ended; `nil` while it continues.
    public var end: UInt64?

    /// Makes a statement about a stream. By default, the device still has all records.
    public init(stream: StreamID, oldest: UInt64 = 1, gone: [ClosedRange<UInt64>] = [], end: UInt64? = nil) {
        self.stream = stream
        self.oldest = oldest
        self.gone = gone
        self.end = end
    }
}

/// A change of a retained message of a trackable: a new presence (which announces a client on the trackable), a new
/// resolution in force, or the removal of either.
public struct StateChange: Hashable, Sendable {
    /// The name of the retained message: the last levels of its topic, below the trackable's topic. Examples are
    /// `publisher/van-7`, `subscriber/desk` and `resolution`.
    public var name: String
    /// The new JSON content of the retained message; `nil` when the message was cleared.
    public var json: [UInt8]?

    /// Makes a change of the retained message with this name, the last levels of its topic. With `nil` for `json`, the
    /// message was cleared.
    public init(_ name: String, json: [UInt8]?) {
        self.name = name
        self.json = json
    }
}

/// A message or a record in it that a recorder cannot accept. It is quarantined: stored separately with the reason,
/// while other messages are processed as usual.
public struct RefusedMessage: Hashable, Sendable {
    /// The topic on which the rejected message arrived.
    public var topic: String
    /// The time at which the recorder received the rejected message, by the recorder's clock.
    public var receivedAt: UnixTime
    /// The trackable that the rejected message or record belongs to; `nil` when the message does not name a valid one.
    public var trackable: TrackableID?
    /// The stream of the rejected record; `nil` when it cannot be read.
    public var stream: StreamID?
    /// The number of the rejected record in its stream; `nil` when it cannot be read. A record with a number is
    /// acknowledged like a stored one, so that the device does not send it again.
    public var seq: UInt64?
    /// The reason for the rejection, as text for people.
    public var reason: String
    /// The payload of the rejected message or record, cut to ``maximumPayloadBytes``.
    public private(set) var payload: [UInt8]

    /// The maximum number of bytes that are stored of a rejected payload.
    public static let maximumPayloadBytes = 16_384
    /// The maximum number of bytes that are stored of a rejected message's topic.
    public static let maximumTopicBytes = 1024

    /// The reason in an entry that reports a possible loss of messages: a recorder reconnected, and the broker had no
    /// MQTT session for it. Messages sent in the meantime may be missing. Such an entry has the topic root as its
    /// topic.
    public static let possibleGapReason =
        "the broker kept no session for this recorder: what came while it was away may be missing"

    /// Makes an entry for a rejected message or record. Its payload and its topic are cut to their maximum sizes.
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
