import TrackingCore
import TrackingCrypto

/// Encodes points as events of CloudEvents 1.0.
enum CloudEvent {
    /// The type of an event with a recorded position.
    static let type = "godwit.position"

    /// Returns the event of a point: an object with the attributes of CloudEvents, and the point as a GeoJSON Feature
    /// in `data`.
    ///
    /// The pair of `source` and `id` is the same whenever the point is sent. A receiver drops an event whose pair it
    /// has already.
    static func json(_ point: Location, of trackable: TrackableID) -> [UInt8] {
        let feature = LocationCodec.encodeFeature(point)
        let attributes = JSONValue.object([
            "specversion": .text("1.0"), "type": .text(Self.type), "id": .text(Self.id(of: point, feature)),
            "source": .text("/trackables/\(Self.percentEncoded(trackable.rawValue))"),
            "subject": .text(trackable.rawValue), "time": .text(ISO8601.text(point.time)),
            "datacontenttype": .text("application/geo+json"),
        ])
        return Array(attributes.json.dropLast()) + Array(",\"data\":".utf8) + feature + Array("}".utf8)
    }

    /// Returns the stream and the number of a point; for a point without a number, a digest of its content.
    private static func id(of point: Location, _ feature: [UInt8]) -> String {
        guard let stream = point.stream, let seq = point.seq else {
            return SHA256.digest(of: feature).prefix(16).hexText
        }
        return "\(stream.rawValue)/\(seq)"
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-._~".utf8.contains(byte)
            return isPlain ? String(UnicodeScalar(byte)) : "%" + [byte].hexText.uppercased()
        }.joined()
    }
}
