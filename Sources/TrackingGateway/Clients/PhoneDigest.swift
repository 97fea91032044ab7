import Crypto
import TrackingCore

/// The first 16 bytes of a record's SHA-256, by which it is known again.
///
/// A point is told apart by time and place, as in the history: what a phone says beside it (its battery, its network) may
/// differ when the same fix is sent once more. An event and a version of a trip are told apart by all they say.
enum PhoneDigest {
    /// How many bytes it has.
    static let bytes = 16

    static func of(point: Location, discriminator: String) -> [UInt8] {
        let bare = Location(coordinate: point.coordinate, time: point.time)
        return Self.of("point", LocationCodec.encodeFeature(bare), discriminator)
    }

    static func of(_ happening: Happening, at time: UnixTime, location: Location?) -> [UInt8] {
        let event = TrackingEvent(
            id: "-", stream: PhoneRecord.unnamed, seq: 1, time: time, kind: happening.kind, detail: happening.detail,
            location: location)
        return Self.of("event", MessageCodec.encode(event))
    }

    static func of(_ piece: RefusedPiece) -> [UInt8] { Self.of("refused", piece.bytes, piece.reason) }

    static func of(_ trip: Trip) -> [UInt8] { Self.of("trip", MessageCodec.encode(trip)) }

    private static func of(_ kind: StaticString, _ content: [UInt8], _ discriminator: String = "") -> [UInt8] {
        var hash = SHA256()
        kind.withUTF8Buffer { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        hash.update(data: content)
        hash.update(data: Array(discriminator.utf8))
        return Array(hash.finalize().prefix(Self.bytes))
    }
}
