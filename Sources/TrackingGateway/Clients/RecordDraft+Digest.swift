import Crypto
import TrackingCore
import TrackingPublisher

/// A point is told apart by time and place, as in the history: what a phone says beside it (its battery, its network) may
/// differ when the same fix is sent once more. A version of a trip is told apart by all it says, and so is most of what happens.
extension RecordDraft {
    /// Makes a point. It is the same as any other with its time and place, unless `discriminator` tells them apart.
    init(point: Location, discriminator: String = "") {
        let bare = Location(coordinate: point.coordinate, time: point.time)
        let sum = ContentSum(of: "point", LocationCodec.encodeFeature(bare), discriminator)
        self.init(.point(point), digest: sum.digest)
    }

    /// What tells an event apart from others.
    enum Identity: Hashable {
        /// All it says.
        case everything
        /// What kind of thing happened, when, and to what of this name: whatever else there is to say may be said later, or otherwise.
        case kindAndTime(of: String)
        /// What happened, which has an id in it: its time is that of its arrival.
        case happening
    }

    /// Makes an event, whose id comes of what tells it apart.
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

/// The SHA-256 of what a record says.
struct ContentSum {
    /// Its 32 bytes.
    let bytes: [UInt8]

    /// Sums up content of a kind.
    init(of kind: String, _ content: [UInt8], _ discriminator: String = "") {
        var hash = SHA256()
        hash.update(data: Array(kind.utf8))
        hash.update(data: content)
        hash.update(data: Array(discriminator.utf8))
        self.bytes = Array(hash.finalize())
    }

    /// What the record is known by.
    var digest: RecordDigest { RecordDigest(self.bytes)! }  // 32 bytes are enough

    /// A UUID (RFC 9562, version 8) of the second half, so that it says nothing of the digest.
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
