import TrackingCore
import TrackingCrypto
import TrackingPublisher

/// Ingested records with a digest, by which the gateway recognises a record that is sent twice.
///
/// The digest of a point covers its time and place and, for OwnTracks, the message's `_id` and trigger. The phone's
/// other values, such as the battery level, may differ when it sends the same fix again. The digest of a version of a
/// trip, and of most events, covers the whole content.
extension RecordDraft {
    /// Creates the record of a point. Two points with the same time, place and `discriminator` count as one record.
    init(point: Location, discriminator: String = "") {
        let bare = Location(coordinate: point.coordinate, time: point.time)
        let sum = ContentSum(of: "point", LocationCodec.encodeFeature(bare), discriminator)
        self.init(.point(point), digest: sum.digest)
    }

    /// The content of an event from which its digest is computed. Two events with the same digest count as one.
    enum Identity: Hashable {
        /// The digest is computed from the whole content of the event.
        case everything
        /// The digest covers the kind and time of the event, and the name in this case. The event's other content may
        /// change when the event is sent again.
        case kindAndTime(of: String)
        /// The digest covers the kind and the detail of the event. The detail contains an id. The time is not used,
        /// because it is only the time of arrival.
        case happening
    }

    /// Creates the record of an event. The event's id is derived from the content that identifies it.
    init(
        _ happening: Happening, at time: UnixTime, location: Location? = nil, identity: Identity = .everything
    ) {
        var event = TrackingEvent(
            id: "-", stream: Self.unnamed, seq: 1, time: identity == .happening ? UnixTime(0) : time,
            kind: happening.kind, detail: happening.detail, location: identity == .everything ? location : nil)
        if case .kindAndTime(let name) = identity { event.detail = ["name": .text(name)] }
        let sum = ContentSum(of: "event", MessageCodec.encode(event))
        event.id = sum.uuid
        event.time = time
        event.detail = happening.detail
        event.location = location
        self.init(.event(event), digest: sum.digest, isKnownByDigest: identity == .happening)
    }

    /// Creates the record of a version of a trip. Two versions with the same content count as one record.
    init(trip: Trip) {
        self.init(.trip(trip), digest: ContentSum(of: "trip", MessageCodec.encode(trip)).digest)
    }
}

/// The SHA-256 sum of a record's content. The gateway recognises by this sum a record that is sent again.
struct ContentSum {
    /// The 32 bytes of the SHA-256 digest.
    let bytes: [UInt8]

    /// Computes the digest of a record's content.
    ///
    /// - Parameters:
    ///   - kind: The kind of record, such as `point`.
    ///   - content: The content that identifies the record.
    ///   - discriminator: A further text that distinguishes records of equal content.
    init(of kind: String, _ content: [UInt8], _ discriminator: String = "") {
        self.bytes = SHA256.digest(of: Array(kind.utf8), content, Array(discriminator.utf8))
    }

    /// The beginning of the SHA-256 sum, as the digest of a record. By this digest the gateway recognises a record that
    /// is sent again.
    var digest: RecordDigest { RecordDigest(self.bytes)! }  // 32 bytes are enough

    /// A UUID (RFC 9562, version 8) from the second half of the SHA-256 digest. It does not reveal ``digest``.
    var uuid: String {
        var half = Array(self.bytes[16...])
        half[6] = half[6] & 0x0F | 0x80
        half[8] = half[8] & 0x3F | 0x80
        let digits = half.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }
}
