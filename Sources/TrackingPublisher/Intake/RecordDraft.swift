public import TrackingCore

/// A record to ingest, which has no name in a stream yet.
public struct RecordDraft: Hashable, Sendable {
    /// The content of a record.
    public enum Content: Hashable, Sendable {
        /// A point; its `stream` and `seq` are given when it is ingested.
        case point(Location)
        /// An event; its `stream` and `seq` are given when it is ingested: see ``RecordDraft/unnamed``.
        case event(TrackingEvent)
        /// A version of a trip; its `stream` and `seq` are given when it is ingested.
        case trip(Trip)
    }

    /// The content.
    public var content: Content
    /// The digest by which the record is recognized when it arrives again. Equal contents must give equal digests.
    public var digest: RecordDigest
    /// `true` where the digest alone identifies the record, because its time is that of its arrival.
    public var isKnownByDigest: Bool

    /// The placeholder in events and trips for the stream that is given when they are ingested.
    public static let unnamed = StreamID("unnamed")!  // 1 to 64 bytes

    /// Makes a draft.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - digest: The digest by which the record is recognized when it arrives again.
    ///   - isKnownByDigest: `true` where the time of the record is that of its arrival.
    public init(_ content: Content, digest: RecordDigest, isKnownByDigest: Bool = false) {
        self.content = content
        self.digest = digest
        self.isKnownByDigest = isKnownByDigest
    }

    /// The time of the record; of a trip, the time of this version.
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
    /// The content of a record in the log; `nil` where it cannot be decoded.
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

    /// The same content under a name.
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

    /// The record of the log for content that has a name.
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
    /// The same record under another name, at its own time; `nil` where it cannot be decoded.
    func renamed(_ name: RecordName) -> SpoolRecord? {
        RecordDraft.Content(self)?.named(name).record(at: self.time, seq: name.seq)
    }
}

extension PutBackRecord {
    /// A quarantined record under the next number of `stream`; `nil` where it cannot be read.
    init?(_ row: QuarantinedRecord, in stream: StreamID, nextSeq: () -> UInt64) {
        guard let content = RecordDraft.Content(row.entry.record) else { return nil }
        let name = RecordName(stream: stream, seq: nextSeq())
        let record = content.named(name).record(at: row.entry.record.time, seq: name.seq)
        self.init(place: row.place, record: record)
    }
}
