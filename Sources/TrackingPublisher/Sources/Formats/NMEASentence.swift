import TrackingCore

/// One validated sentence of NMEA 0183, from any talker.
///
/// A value whose field is empty or not in its format is `nil`; the quality of a GGA sentence is then 0. Receivers leave
/// out unknown values.
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

    /// A GGA sentence: position, quality and height of a fix.
    struct GGA: Hashable, Sendable {
        var time: NMEATime?
        var coordinate: Coordinate?
        /// The quality of the fix: 0 no fix, 1 GPS, 2 differential, 4 and 5 RTK, 6 estimated, 7 typed in by hand, 8
        /// simulated.
        var quality: Int
        var dilution: Double?
        /// The altitude above mean sea level, in metres.
        var altitude: Double?
        /// The height of the geoid above the ellipsoid, in metres.
        var geoidSeparation: Double?
    }

    /// An RMC sentence: position, speed, course and date.
    struct RMC: Hashable, Sendable {
        var time: NMEATime?
        /// The date in an RMC sentence, in days since 1970-01-01; years from 1980 to 2079.
        var days: Int?
        var isValid: Bool
        var coordinate: Coordinate?
        /// The speed of the receiver in an RMC sentence, in metres a second; `nil` if the sentence contains none.
        var speed: Double?
        var course: Double?
    }

    /// A GLL sentence: a position without speed or height.
    struct GLL: Hashable, Sendable {
        var time: NMEATime?
        var isValid: Bool
        var coordinate: Coordinate?
    }

    /// A VTG sentence: course and speed.
    struct VTG: Hashable, Sendable {
        var course: Double?
        /// The speed of the receiver in a VTG sentence, in metres a second; `nil` if the sentence contains none.
        var speed: Double?
    }

    /// A GSA sentence: the mode of the fix (1 no fix, 2 without height, 3 with height) and its dilutions.
    struct GSA: Hashable, Sendable {
        var mode: Int?
        var horizontalDilution: Double?
        var verticalDilution: Double?
    }

    /// A GST sentence: the standard deviations of the fix, in metres.
    struct GST: Hashable, Sendable {
        var time: NMEATime?
        var latitudeDeviation: Double?
        var longitudeDeviation: Double?
        var altitudeDeviation: Double?
    }

    /// A ZDA sentence: time and date.
    struct ZDA: Hashable, Sendable {
        var time: NMEATime?
        /// The date in a ZDA sentence, in days since 1970-01-01.
        var days: Int?
    }

    /// `true` when the sentence is of a kind that contains a time and a position, but both are missing. The receiver
    /// then knows neither of them.
    var isLost: Bool {
        switch self {
        case .gga(let gga): gga.time == nil && gga.coordinate == nil
        case .rmc(let rmc): rmc.time == nil && rmc.coordinate == nil
        case .gll(let gll): gll.time == nil && gll.coordinate == nil
        case .vtg, .gsa, .gst, .zda, .other: false
        }
    }

    /// The reason for which a line was rejected: it is no NMEA sentence, or its checksum is missing or wrong.
    enum Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// The line does not contain `$` or `!`, or after its last `$` or `!` there is nothing or a byte that is not
        /// printable ASCII.
        case notNMEA
        case withoutChecksum(String)
        case wrongChecksum(String)

        /// The reason for rejecting the line, as text for the end of an error message. The message can begin with the
        /// number of the line.
        var description: String {
            switch self {
            case .notNMEA: "the line is not NMEA (wrong speed of the serial line, or a binary protocol?)"
            case .withoutChecksum(let address): "the sentence \(address) has no checksum"
            case .wrongChecksum(let address): "the sentence \(address) has a wrong checksum"
            }
        }
    }

    /// Parses one line, without its line end, as an NMEA sentence.
    init(line: ArraySlice<UInt8>) throws(Refusal) { self.init(try Self.fields(of: line)) }

    /// Returns the fields of one NMEA line, which has no line end. The first field is the address, such as `GPGGA`.
    static func fields(of line: ArraySlice<UInt8>) throws(Refusal) -> [NMEAField] {
        let body = try Self.checkedBody(of: line)
        return body.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(NMEAField.init)
    }

    /// Makes an NMEA sentence from its fields, which ``fields(of:)`` returned for a line. Of an unknown kind of
    /// sentence, only the address and the texts are stored.
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

    /// Returns the checksum of the bytes between `$` and `*` of a sentence: the exclusive or of all bytes.
    static func checksum(_ body: some Sequence<UInt8>) -> UInt8 { body.reduce(0, ^) }

    /// Returns the bytes of a sentence between `$` (or `!`) and `*`, after verifying the checksum that follows.
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
