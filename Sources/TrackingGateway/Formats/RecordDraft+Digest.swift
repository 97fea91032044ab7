import Crypto
import TrackingCore
import TrackingPublisher

/// Time and place identify a point, as in the history: the phone's other values (battery, network) may differ when it
/// sends the same fix again. The whole content identifies a version of a trip, and most events.
extension RecordDraft {
    /// Makes a point. Points with the same time and place are equal, unless `discriminator` differs.
    init(point: Location, discriminator: String = "") {
        let bare = Location(coordinate: point.coordinate, time: point.time)
        let sum = ContentSum(of: "point", LocationCodec.encodeFeature(bare), discriminator)
        self.init(.point(point), digest: sum.digest)
    }

    /// The content that identifies an event.
    enum Identity: Hashable {
        /// The whole content.
        case everything
        /// The kind, the time and the given name. Other content may be added or changed later.
        case kindAndTime(of: String)
        /// The happening alone, which contains an id. The time is the time of arrival.
        case happening
    }

    /// Makes an event. Its id is derived from the content that identifies it.
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

    /// Makes a version of a trip.
    init(trip: Trip) {
        self.init(.trip(trip), digest: ContentSum(of: "trip", MessageCodec.encode(trip)).digest)
    }
}

/// The SHA-256 of a record's content.
struct ContentSum {
    /// The 32 bytes of the digest.
    let bytes: [UInt8]

    /// Computes the digest of content of the given kind.
    init(of kind: String, _ content: [UInt8], _ discriminator: String = "") {
        var hash = SHA256()
        hash.update(data: Array(kind.utf8))
        hash.update(data: content)
        hash.update(data: Array(discriminator.utf8))
        self.bytes = Array(hash.finalize())
    }

    /// The digest that identifies the record.
    var digest: RecordDigest { RecordDigest(self.bytes)! }  // 32 bytes are enough

    /// A UUID (RFC 9562, version 8) from the second half of the sum. It does not reveal the digest.
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
