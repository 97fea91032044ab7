import TrackingCore

/// One validated sentence of NMEA 0183, from any talker.
///
/// A field that is empty or not in its format is `nil`. Receivers leave out unknown values.
enum NMEASentence: Hashable, Sendable {
    case gga(GGA)
    case rmc(RMC)
    case gll(GLL)
    case vtg(VTG)
    case gsa(GSA)
    case gst(GST)
    case zda(ZDA)
    /// A valid sentence that does not describe a fix: its address (`GPGSV`) and its fields.
    case other(address: String, fields: [String])

    /// Position, quality and height.
    struct GGA: Hashable, Sendable {
        var time: NMEATime?
        var coordinate: Coordinate?
        /// 0 no fix, 1 GPS, 2 differential, 4 and 5 RTK, 6 estimated, 7 typed in by hand, 8 simulated.
        var quality: Int
        var dilution: Double?
        /// The altitude above mean sea level, in metres.
        var altitude: Double?
        /// The height of the geoid above the ellipsoid, in metres.
        var geoidSeparation: Double?
    }

    /// Position, speed, course and date.
    struct RMC: Hashable, Sendable {
        var time: NMEATime?
        /// Days since 1970-01-01; years from 1980 to 2079.
        var days: Int?
        var isValid: Bool
        var coordinate: Coordinate?
        /// Metres a second.
        var speed: Double?
        var course: Double?
    }

    /// Position alone.
    struct GLL: Hashable, Sendable {
        var time: NMEATime?
        var isValid: Bool
        var coordinate: Coordinate?
    }

    /// Course and speed.
    struct VTG: Hashable, Sendable {
        var course: Double?
        /// Metres a second.
        var speed: Double?
    }

    /// Dimensions of the fix (1 none, 2 without height, 3 with it) and dilutions.
    struct GSA: Hashable, Sendable {
        var mode: Int?
        var horizontalDilution: Double?
        var verticalDilution: Double?
    }

    /// Standard deviations of the fix, in metres.
    struct GST: Hashable, Sendable {
        var time: NMEATime?
        var latitudeDeviation: Double?
        var longitudeDeviation: Double?
        var altitudeDeviation: Double?
    }

    /// Time and date.
    struct ZDA: Hashable, Sendable {
        var time: NMEATime?
        /// Days since 1970-01-01.
        var days: Int?
    }

    /// `true` when the sentence should contain a time and a position and contains neither. The receiver knows neither
    /// of them.
    var isLost: Bool {
        switch self {
        case .gga(let gga): gga.time == nil && gga.coordinate == nil
        case .rmc(let rmc): rmc.time == nil && rmc.coordinate == nil
        case .gll(let gll): gll.time == nil && gll.coordinate == nil
        case .vtg, .gsa, .gst, .zda, .other: false
        }
    }

    /// The reason that a line is not a sentence.
    enum Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// The line does not contain `$` or `!`, or contains bytes that are not printable ASCII.
        case notNMEA
        case withoutChecksum(String)
        case wrongChecksum(String)

        /// The reason as text. The beginning of the error message, such as the number of the line, precedes it.
        var description: String {
            switch self {
            case .notNMEA: "the line is not NMEA (wrong speed of the serial line, or a binary protocol?)"
            case .withoutChecksum(let address): "the sentence \(address) has no checksum"
            case .wrongChecksum(let address): "the sentence \(address) has a wrong checksum"
            }
        }
    }

    /// Reads one line, without its line end.
    init(line: ArraySlice<UInt8>) throws(Refusal) { self.init(try Self.fields(of: line)) }

    /// Returns the fields of a line without its line end. The first field is the address.
    static func fields(of line: ArraySlice<UInt8>) throws(Refusal) -> [NMEAField] {
        let body = try Self.checkedBody(of: line)
        return body.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(NMEAField.init)
    }

    /// Reads the fields that ``fields(of:)`` returned.
    init(_ fields: [NMEAField]) {
        let address = fields[0].text
        switch address.hasPrefix("P") || address.utf8.count != 5 ? "" : address.suffix(3) {
        case "GGA": self = .gga(GGA(fields))
        case "RMC": self = .rmc(RMC(fields))
        case "GLL": self = .gll(GLL(fields))
        case "VTG": self = .vtg(VTG(fields))
        case "GSA": self = .gsa(GSA(fields))
        case "GST": self = .gst(GST(fields))
        case "ZDA": self = .zda(ZDA(fields))
        default: self = .other(address: address, fields: fields.dropFirst().map(\.text))
        }
    }

    /// The checksum of a sentence's bytes between `$` and `*`.
    static func checksum(_ body: some Sequence<UInt8>) -> UInt8 { body.reduce(0, ^) }

    /// Returns the bytes between `$` and `*`, after verifying the checksum.
    private static func checkedBody(of line: ArraySlice<UInt8>) throws(Refusal) -> ArraySlice<UInt8> {
        // A line may begin with part of another sentence, because the input was opened in mid-sentence or lost a line
        // end. The complete sentence follows the last `$`.
        guard let start = line.lastIndex(where: { $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "!") }),
            case let text = line[(start + 1)...], !text.isEmpty, text.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw .notNMEA }
        let address = NMEAField(text.prefix(while: { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "*") }).prefix(16))
            .text
        guard let star = text.lastIndex(of: UInt8(ascii: "*")) else { throw .withoutChecksum(address) }
        let body = text[..<star]
        var digits = text[(star + 1)...]
        while digits.last == UInt8(ascii: " ") { digits.removeLast() }
        guard digits.count == 2, let reported = UInt8(NMEAField(digits).text, radix: 16),
            reported == Self.checksum(body)
        else {
            throw .wrongChecksum(address)
        }
        return body
    }
}
