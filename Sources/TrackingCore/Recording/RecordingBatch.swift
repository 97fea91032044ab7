/// A batch of messages from any number of trackables, decoded and in order of arrival, that a recorder stores in one
/// transaction.
public struct RecordingBatch: Hashable, Sendable {
    /// The decoded content of each valid message, in order of arrival. A recorder stores it in the history.
    public var recordings: [Recording] = []
    /// The rejected messages and records, which are stored separately with the reason (quarantined).
    public var refused: [RefusedMessage] = []

    /// Makes a batch without messages, for the messages that a recorder will receive.
    public init() {}

    /// `true` when the batch contains neither valid nor rejected messages, so that there is nothing to store.
    public var isEmpty: Bool { self.recordings.isEmpty && self.refused.isEmpty }
    /// The number of points, trips and events in all valid messages of the batch. Rejected messages and records are not
    /// counted.
    public var count: Int { self.recordings.reduce(0) { $0 + $1.points.count + $1.trips.count + $1.events.count } }

    /// Adds a message that has arrived to the batch. An invalid message is added to ``refused``. Messages that are not
    /// recorded are ignored: raw positions, commands and their answers, resolution requests, liveness,
    /// acknowledgements, and the empty messages that clear a retained record.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - root: The topic root, the levels with which all topics begin.
    ///   - receivedAt: The time of arrival, by the recorder's clock.
    public mutating func received(_ message: IncomingMessage, root: TopicRoot, at receivedAt: UnixTime) {
        guard let topic = root.topic(message.topic), let trackable = topic.trackable else {
            // The recorder's subscriptions match other topics only where a level is not a valid id.
            guard !message.topic.hasPrefix(root.path + "/_clients/") else { return }
            // The entry is erased together with that trackable.
            let meant = root.trackable(meantBy: message.topic)
            return self.refuse(message, of: meant, at: receivedAt, "the topic is not a topic of the protocol")
        }
        var recording = Recording(of: trackable, at: receivedAt)
        do throws(TrackingError) {
            guard try self.read(message, topic, into: &recording) else { return }
            self.recordings.append(recording)
        } catch {
            self.refuse(message, of: trackable, at: receivedAt, error.message)
        }
    }

    private mutating func refuse(
        _ message: IncomingMessage, of trackable: TrackableID?, at receivedAt: UnixTime, _ reason: String
    ) {
        self.refused.append(
            RefusedMessage(
                topic: message.topic, receivedAt: receivedAt, trackable: trackable, reason: reason,
                payload: message.payload))
    }

    /// Decodes the content of one message into `recording`. Returns `false` when the message is not stored: messages of
    /// this kind are never stored, or it only clears a retained record.
    ///
    /// - Throws: `invalidPayload` or another error that states why the content is invalid.
    private mutating func read(
        _ message: IncomingMessage, _ topic: Topic, into recording: inout Recording
    ) throws(TrackingError) -> Bool {
        let payload = message.payload
        switch topic {
        case .publisher(_, let client), .subscriber(_, let client):
            let kind: MemberKind = if case .publisher = topic { .publisher } else { .subscriber }
            if !payload.isEmpty { _ = try MessageCodec.decodePresence(payload, expecting: kind) }
            recording.state = StateChange(
                kind == .publisher ? "publisher/\(client)" : "subscriber/\(client)", payload: payload)
        case .resolution:
            if !payload.isEmpty { _ = try MessageCodec.decodeResolution(payload) }
            recording.state = StateChange("resolution", payload: payload)
        case .location, .history, .trip, .event:
            // An empty retained message clears its topic. Records that were stored from that topic remain.
            if payload.isEmpty { return false }
            try self.readRecords(message, topic, into: &recording)
        // Raw positions are not recorded: they are the sensor's points before filtering, and the history contains the
        // filtered points.
        // Positions on the road and estimates follow from other messages, and can be made again.
        case .raw, .enhanced, .journey, .estimate, .request, .ack, .command, .answer, .liveness: return false
        }
        return true
    }

    private mutating func readRecords(
        _ message: IncomingMessage, _ topic: Topic, into recording: inout Recording
    ) throws(TrackingError) {
        let payload = message.payload
        switch topic {
        case .location:
            let update = try LocationCodec.decode(payload)
            recording.points = update.skipped
            // A prediction is not recorded. It has no number of its own.
            if update.kind == .actual { recording.points.append(update.location) }
        case .history: try self.read(HistoryCodec.decode(payload), of: message, into: &recording)
        case .trip: recording.trips = [RecordedDocument(try MessageCodec.decodeTrip(payload), json: Array(payload))]
        case .event: recording.events = [RecordedDocument(try MessageCodec.decodeEvent(payload), json: Array(payload))]
        case .raw, .enhanced, .journey, .estimate, .publisher, .subscriber, .resolution, .request, .ack, .command,
            .answer, .liveness:
            break
        }
    }

    private mutating func read(
        _ decoded: DecodedBatch, of message: IncomingMessage, into recording: inout Recording
    ) throws(TrackingError) {
        let batch = decoded.batch
        recording.declaration = StreamDeclaration(
            stream: batch.stream, oldest: batch.oldest, gone: batch.gone, end: batch.end)
        recording.points.reserveCapacity(batch.records.count)
        for position in batch.records.indices { try recording.take(batch.records, at: position, of: batch.stream) }
        for record in decoded.refused {
            self.refused.append(
                RefusedMessage(
                    topic: message.topic, receivedAt: recording.receivedAt, trackable: recording.trackable,
                    stream: batch.stream, seq: record.seq, reason: record.reason.message, payload: record.payload))
        }
    }
}

extension Recording {
    /// Adds one record (point, trip or event) of a batch to the recording. The record always belongs to the batch's
    /// stream, even if it contains the id of another stream.
    fileprivate mutating func take(
        _ records: SpoolRecords, at position: Int, of stream: StreamID
    ) throws(TrackingError) {
        let payload = records.payload(at: position)
        switch records.kind(at: position) {
        case .point:
            var point = try LocationCodec.decodeFeature(payload)
            point.stream = stream
            self.points.append(point)
        case .trip:
            var trip = try MessageCodec.decodeTrip(payload)
            trip.stream = stream
            self.trips.append(RecordedDocument(trip, json: Array(payload)))
        case .event:
            var event = try MessageCodec.decodeEvent(payload)
            event.stream = stream
            self.events.append(RecordedDocument(event, json: Array(payload)))
        }
    }
}

extension StateChange {
    fileprivate init(_ name: String, payload: ArraySlice<UInt8>) {
        self.init(name, json: payload.isEmpty ? nil : Array(payload))
    }
}
