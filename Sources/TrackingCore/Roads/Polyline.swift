/// The encoded polyline format with six decimals, in which routing engines and estimates write the way along a road.
///
/// Each number is the difference from the previous point in millionths of a degree, latitude first. It is written in
/// groups of five bits, the lowest first, as printable ASCII characters. Google published the format in 2008 as
/// "Encoded Polyline Algorithm Format", with five decimals.
public enum Polyline {
    /// Encodes points as text. Rounds each coordinate to six decimals, which is about 0.1 metres.
    public static func encode(_ points: [Coordinate]) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(points.count * 6)
        var (latitude, longitude) = (0, 0)
        for point in points {
            let (nextLatitude, nextLongitude) = (Self.integer(point.latitude), Self.integer(point.longitude))
            Self.append(nextLatitude - latitude, to: &bytes)
            Self.append(nextLongitude - longitude, to: &bytes)
            (latitude, longitude) = (nextLatitude, nextLongitude)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes points from text.
    ///
    /// - Parameters:
    ///   - text: The encoded points.
    ///   - limit: The maximum number of points.
    /// - Returns: The points; `nil` when the text is not an encoded polyline, has a point outside the earth's
    ///   coordinates, or has more points than `limit`.
    public static func decode(_ text: String, limit: Int) -> [Coordinate]? {
        var points: [Coordinate] = []
        var (latitude, longitude) = (0, 0)
        var rest = text.utf8[...]
        while !rest.isEmpty {
            guard points.count < limit, let first = Self.next(&rest), let second = Self.next(&rest) else { return nil }
            latitude += first
            longitude += second
            let point = Coordinate(latitude: Double(latitude) / Self.scale, longitude: Double(longitude) / Self.scale)
            guard let point else { return nil }
            points.append(point)
        }
        return points
    }

    private static let scale = 1e6

    private static func integer(_ degrees: Double) -> Int { Int((degrees * self.scale).rounded()) }

    private static func append(_ value: Int, to bytes: inout [UInt8]) {
        var rest = value < 0 ? ~(value << 1) : value << 1
        while rest >= 0x20 {
            bytes.append(UInt8(0x20 | rest & 0x1f) + 63)
            rest >>= 5
        }
        bytes.append(UInt8(rest) + 63)
    }

    /// Reads the next number, or returns `nil` when the text ends within it or the number is no difference of two
    /// coordinates: those have at most six groups of five bits.
    private static func next(_ rest: inout Substring.UTF8View) -> Int? {
        var value = 0
        for shift in stride(from: 0, through: 25, by: 5) {
            guard let byte = rest.popFirst(), (63...126).contains(byte) else { return nil }
            let group = Int(byte - 63)
            value |= (group & 0x1f) << shift
            if group < 0x20 { return value & 1 == 1 ? ~(value >> 1) : value >> 1 }
        }
        return nil
    }
}
