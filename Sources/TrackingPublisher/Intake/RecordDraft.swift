public import TrackingCore

/// A record of a trackable that comes from outside, by HTTP for instance, and has no name in a stream yet.
public struct RecordDraft: Hashable, Sendable {
    /// What it says.
    public enum Content: Hashable, Sendable {
        /// A point; its `stream` and `seq` are given when it is taken.
        case point(Location)
        /// Something that happened; its `stream` and `seq` are given when it is taken: see ``RecordDraft/unnamed``.
        case event(TrackingEvent)
        /// A version of a trip; likewise.
        case trip(Trip)
    }

    /// What it says.
    public var content: Content
    /// What it is known by when it comes again: a digest of what it says, written in one way only.
    public var digest: RecordDigest
    /// Whether it is known by its digest alone, because its time is only that of its arrival.
    public var isKnownByDigest: Bool

    /// Stands in events and trips for the stream that is given when they are taken.
    public static let unnamed = StreamID("unnamed")!  // 1 to 64 bytes

    /// Makes a draft.
    public init(_ content: Content, digest: RecordDigest, isKnownByDigest: Bool = false) {
        self.content = content
        self.digest = digest
        self.isKnownByDigest = isKnownByDigest
    }

    /// When it was so: of a trip, the time of this version of it.
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
    /// What a record of the log says; `nil` where that cannot be read.
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

    /// The same under a name.
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

    /// The record of the log; it has a name.
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
    /// The same under another name, at its own time; `nil` where what it says cannot be read.
    func renamed(_ name: RecordName) -> SpoolRecord? {
        RecordDraft.Content(self)?.named(name).record(at: self.time, seq: name.seq)
    }
}
