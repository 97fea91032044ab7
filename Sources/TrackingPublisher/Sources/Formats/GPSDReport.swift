private import FoundationEssentials
import TrackingCore

/// One line of gpsd's JSON protocol (version 3). Only the members that a tracker needs are read.
enum GPSDReport: Hashable, Sendable {
    /// gpsd's first report on a connection: the release of gpsd and the major version of its protocol.
    case version(release: String, protocolMajor: Int)
    /// A report that lists all receivers that gpsd has now.
    case devices([Device])
    /// A report that a receiver appeared, changed or (with `isActive` false) disappeared.
    case device(Device)
    /// A report of a fix, with the path of the receiver that made it; `nil` if the report names no path.
    case fix(Location, device: String?)
    /// A report of a receiver that has no fix, or of a fix without a valid time or position.
    case noFix
    /// A report that gpsd rejected a command, with gpsd's message.
    case error(String)
    /// A report of another class, which the tracker ignores: `SKY`, `WATCH`, `PPS`…
    case other(String)

    /// A positioning receiver that gpsd drives, as gpsd reports it.
    struct Device: Hashable, Sendable {
        /// The path by which gpsd identifies the receiver, such as `/dev/ttyUSB0`.
        var path: String
        /// `true` while gpsd has the device open.
        var isActive: Bool
        /// The shortest cycle of the receiver, in seconds; `nil` when gpsd cannot set its cycle or has not reported
        /// it yet.
        var shortestCycle: Double?
        /// The names of gpsd's driver and of the receiver's subtype, as one text; `nil` while gpsd has not recognized
        /// the receiver.
        var driver: String?
    }

    /// Decodes one line of gpsd's output, without its line end.
    ///
    /// - Throws: `invalidPayload` when the line is not a JSON report of gpsd.
    init(line: ArraySlice<UInt8>) throws(TrackingError) {
        let decoder = JSONDecoder()
        let data = Data(line)
        do {
            switch try decoder.decode(Class.self, from: data).class {
            case "TPV": self = try Self.read(decoder.decode(TPV.self, from: data))
            case "VERSION":
                let version = try decoder.decode(Version.self, from: data)
                self = .version(release: version.release, protocolMajor: version.protocolMajor)
            case "DEVICES": self = .devices(try decoder.decode(Devices.self, from: data).devices.map(\.device))
            case "DEVICE": self = .device(try decoder.decode(DeviceMessage.self, from: data).device)
            case "ERROR": self = .error(try decoder.decode(ErrorMessage.self, from: data).message)
            case let other: self = .other(String(other.prefix(32)))
            }
        } catch {
            throw TrackingError(.invalidPayload, "the line is not a JSON report of gpsd")
        }
    }

    private static func read(_ report: TPV) -> GPSDReport {
        // Older versions report mode 0 (unknown) or 1 (no fix). A fix without a time is ignored because its age is
        // unknown.
        guard let mode = report.mode, mode >= 2, let time = report.time.flatMap({ ISO8601.parse($0.utf8) }),
            let latitude = report.lat, let longitude = report.lon,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else { return .noFix }
        var location = Location(coordinate: coordinate, time: time)
        if mode >= 3 {
            location.altitude = report.altHAE?.ifFinite
            location.accuracyVertical = Self.positive(report.epv).map { $0 * Confidence.lineFrom95 }
        }
        location.accuracyHorizontal = Self.accuracyHorizontal(report)
        location.speed = Self.positive(report.speed)
        location.accuracySpeed = Self.positive(report.eps).map { $0 * Confidence.lineFrom95 }
        if location.speed != 0, let track = report.track, track.isFinite {
            location.bearing = track.normalizedBearing
            location.accuracyBearing = Self.positive(report.epd).map { $0 * Confidence.lineFrom95 }
        }
        // gpsd's STATUS_SIM: the receiver reports that the position is simulated.
        return .fix(report.status == 8 ? MockPolicy.marked(location) : location, device: report.device)
    }

    /// Returns the radius of error of a fix, in metres. It is computed from the errors to the east and to the north if
    /// gpsd reports both, otherwise from gpsd's own radius; `nil` without either. Older versions of gpsd report only
    /// some of these errors.
    private static func accuracyHorizontal(_ report: TPV) -> Double? {
        if let east = Self.positive(report.epx), let north = Self.positive(report.epy) {
            return Confidence.radius(deviations: east * Confidence.lineFrom95, north * Confidence.lineFrom95).ifFinite
        }
        return Self.positive(report.eph).map { $0 * Confidence.radiusFrom95 }
    }

    private static func positive(_ value: Double?) -> Double? { value.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil } }
}

// The reports as gpsd writes them, with gpsd's member names.

private struct Class: Decodable { var `class`: String }

private struct TPV: Decodable {
    var device: String?
    var mode: Int?
    var status: Int?
    var time: String?
    var lat: Double?
    var lon: Double?
    var altHAE: Double?
    var epx: Double?
    var epy: Double?
    var eph: Double?
    var epv: Double?
    var track: Double?
    var epd: Double?
    var speed: Double?
    var eps: Double?
}

private struct Version: Decodable {
    var release: String
    var protocolMajor: Int

    private enum CodingKeys: String, CodingKey {
        case release
        case protocolMajor = "proto_major"
    }
}

private struct ErrorMessage: Decodable { var message: String }

private struct Devices: Decodable { var devices: [DeviceMessage] }

private struct DeviceMessage: Decodable {
    var path: String
    var mincycle: Double?
    var driver: String?
    var subtype: String?
    /// `true` if gpsd has the receiver open. The JSON member is the number 0 for a receiver that disappeared, and
    /// otherwise the time of activation as text.
    var isActive: Bool

    private enum CodingKeys: String, CodingKey { case path, mincycle, driver, subtype, activated }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.path = try container.decode(String.self, forKey: .path)
        self.mincycle = try? container.decode(Double.self, forKey: .mincycle)
        self.driver = try? container.decode(String.self, forKey: .driver)
        self.subtype = try? container.decode(String.self, forKey: .subtype)
        self.isActive = (try? container.decode(Double.self, forKey: .activated)) != 0
    }

    var device: GPSDReport.Device {
        GPSDReport.Device(
            path: self.path, isActive: self.isActive, shortestCycle: self.mincycle,
            driver: self.driver.map { "\($0) \(self.subtype ?? "")" })
    }
}
