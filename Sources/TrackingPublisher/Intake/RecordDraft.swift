public import TrackingCore

/// A record to ingest. It has no name, that is, no stream and no number in the publisher's log, yet.
public struct RecordDraft: Hashable, Sendable {
    /// The content of a record to ingest: a point, an event, or a version of a trip.
    public enum Content: Hashable, Sendable {
        /// A point. The publisher sets its `stream` and `seq` when it appends the point to its log.
        case point(Location)
        /// An event. The publisher sets its `stream` and `seq` when it appends the event to its log. Use
        /// ``RecordDraft/unnamed`` as the stream until then.
        case event(TrackingEvent)
        /// A version of a trip. The publisher sets its `stream` and `seq` when it appends the trip to its log.
        case trip(Trip)
    }

    /// The content of the record: a point, an event or a trip.
    public var content: Content
    /// The digest by which the publisher recognizes the record when the sender sends it again. Equal contents must give
    /// equal digests.
    public var digest: RecordDigest
    /// `true` if the record has no time of its own, only the time of its arrival. A repeated record is then recognized
    /// by the digest alone, otherwise by time and digest.
    public var isKnownByDigest: Bool

    /// The placeholder for the stream in an event or a trip that the publisher has not yet appended to its log, where
    /// the record gets its stream.
    public static let unnamed = StreamID("unnamed")!  // 1 to 64 bytes

    /// Makes a record to ingest.
    ///
    /// - Parameters:
    ///   - content: The point, event or trip.
    ///   - digest: The digest by which the record is recognized when it is sent again.
    ///   - isKnownByDigest: `true` if the time of the record is only that of its arrival.
    public init(_ content: Content, digest: RecordDigest, isKnownByDigest: Bool = false) {
        self.content = content
        self.digest = digest
        self.isKnownByDigest = isKnownByDigest
    }

    /// The time of the point or event. For a version of a trip, the time of its end, otherwise that of its last
    /// position, otherwise that of its start.
    public var time: UnixTime {
        switch self.content {
        case .point(let location): location.time
        case .event(let event): event.time
        case .trip(let trip): trip.end ?? trip.lastLocation?.time ?? trip.start
        }
    }

    var mark: RecordMark { RecordMark(time: self.isKnownByDigest ? UnixTime(0) : self.time, digest: self.digest) }
}

extension RecordDraft.Content {
    /// Decodes the content of a record in the log; `nil` if that is not possible.
    init?(_ record: SpoolRecord) {
        let content: Self? =
            switch record.kind {
            case .point: (try? LocationCodec.decodeFeature(record.payload)).map { .point($0) }
            case .event: (try? MessageCodec.decodeEvent(record.payload)).map { .event($0) }
            case .trip: (try? MessageCodec.decodeTrip(record.payload)).map { .trip($0) }
            }
        guard let content else { return nil }
        self = content
    }

    /// Returns the same content with the stream and the number of the given name.
    func named(_ name: RecordName) -> Self {
        switch self {
        case .point(var location):
            (location.stream, location.seq) = (name.stream, name.seq)
            return .point(location)
        case .event(var event):
            (event.stream, event.seq) = (name.stream, name.seq)
            return .event(event)
        case .trip(var trip):
            (trip.stream, trip.seq) = (name.stream, name.seq)
            return .trip(trip)
        }
    }

    /// Encodes content that has a stream and a number as a record of the log.
    func record(at time: UnixTime, seq: UInt64) -> SpoolRecord {
        switch self {
        case .point(let location):
            SpoolRecord(
                seq: seq, time: time, kind: .point, tripID: location.tripID,
                payload: LocationCodec.encodeFeature(location, inheriting: location.stream))
        case .event(let event):
            SpoolRecord(seq: seq, time: time, kind: .event, payload: MessageCodec.encode(event))
        case .trip(let trip):
            SpoolRecord(seq: seq, time: time, kind: .trip, tripID: trip.id, payload: MessageCodec.encode(trip))
        }
    }
}

extension SpoolRecord {
    /// Returns the same record with another stream and number. Its time stays the same. `nil` if the record cannot be
    /// decoded.
    func renamed(_ name: RecordName) -> SpoolRecord? {
        RecordDraft.Content(self)?.named(name).record(at: self.time, seq: name.seq)
    }
}

extension PutBackRecord {
    /// Creates a record for the log from a quarantined one, with the next number of `stream`; `nil` if the quarantined
    /// record cannot be decoded.
    init?(_ row: QuarantinedRecord, in stream: StreamID, nextSeq: () -> UInt64) {
        guard let content = RecordDraft.Content(row.entry.record) else { return nil }
        let name = RecordName(stream: stream, seq: nextSeq())
        let record = content.named(name).record(at: row.entry.record.time, seq: name.seq)
        self.init(place: row.place, record: record)
    }
}
