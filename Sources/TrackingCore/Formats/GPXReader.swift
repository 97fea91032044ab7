/// Reads the track points of GPX 1.0 and 1.1 files. The file may arrive in pieces.
///
/// Waypoints and route points are skipped. A file that contains only such points is reported as an invalid input, and
/// so is each track point without a valid time or position. Speed and course are read from GPX 1.0 elements and from
/// elements with these names inside `extensions`, such as Garmin's. The accuracy is derived from `hdop` (see
/// ``Confidence``). The altitude is `ele` plus `geoidheight`, or `ele` alone.
package struct GPXReader: RecordingDecoder {
    package private(set) var failure: TrackingError?
    private var scanner = XMLScanner()
    private var point: Point?
    /// The text read so far of the current XML element in a track point; `nil` outside of track points, and when the
    /// text is longer than ``maximumText``.
    private var text: String?
    private var count = 0
    /// The number of waypoints and route points that were skipped.
    private var places = 0
    /// The number of XML elements of the GPX file that were opened and not closed yet, at the place up to which the
    /// file was read.
    private var depth = 0
    /// The nesting depth of the outermost open XML element `extensions`, which contains additions of a program or a
    /// device. `nil` outside of such an element.
    private var extensionsDepth: Int?
    private var isGPX = false
    private var pending: [SourceEvent] = []

    /// The maximum length, in bytes, of an XML element's text that is read as a number or a time: 64. A longer text is
    /// ignored.
    private static let maximumText = 64

    /// The values of the track point that is being read.
    private struct Point {
        /// The nesting depth of the XML element `trkpt` of this track point. The elements inside it, such as `time`,
        /// are one level deeper.
        let depth: Int
        var coordinate: Coordinate?
        var time: UnixTime?
        var elevation: Double?
        var geoidHeight: Double?
        var dilution: Double?
        var verticalDilution: Double?
        var speed: Double?
        var course: Double?

        /// Sets the value of the track point that belongs to the XML element with this name, from the element's text.
        /// Inside `extensions`, only speed and course are read. The value becomes `nil` (unknown) when the text is
        /// invalid.
        mutating func set(_ name: String, to text: String, isExtension: Bool) {
            guard !isExtension || name == "speed" || name == "course" else { return }
            let bytes = GPXReader.trimmed(text)
            let number = Double(String(decoding: bytes, as: UTF8.self))?.ifFinite
            let magnitude = number.flatMap { $0 >= 0 ? $0 : nil }
            switch name {
            case "time": self.time = ISO8601.parse(bytes)
            case "ele": self.elevation = number
            case "geoidheight": self.geoidHeight = number
            case "hdop": self.dilution = magnitude
            case "vdop": self.verticalDilution = magnitude
            case "speed": self.speed = magnitude
            case "course": self.course = number
            default: break
            }
        }
    }

    /// Makes a reader of the track points of a GPX document, at the document's beginning.
    package init() {}

    package mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        guard self.failure == nil else { return [] }
        self.scanner.append(bytes)
        do throws(XMLScanner.Malformed) {
            while let event = try self.scanner.next() { try self.read(event) }
        } catch {
            self.failure = TrackingError(
                .inputUnreadable, "the input is not well-formed GPX: line \(error.line): \(error.reason)")
        }
        return self.takePending()
    }

    package mutating func finish() -> [SourceEvent] {
        guard self.failure == nil else { return [] }
        guard self.isGPX else {
            self.failure = TrackingError(.inputUnreadable, "the input is not GPX: it has no gpx element")
            return []
        }
        guard self.scanner.isComplete else {
            return [.badInput("the GPX file ends unexpectedly after track point \(self.count)")]
        }
        guard self.count == 0, self.places > 0 else { return [] }
        return [
            .badInput(
                "the GPX file has no track, only \(self.places) waypoints or route points without times")
        ]
    }

    private mutating func takePending() -> [SourceEvent] {
        defer { self.pending = [] }
        return self.pending
    }

    private mutating func read(_ event: XMLScanner.Event) throws(XMLScanner.Malformed) {
        switch event {
        case .start(let name, let attributes): try self.started(name, attributes)
        case .text(let piece):
            guard let text = self.text else { return }
            self.text = text.utf8.count + piece.utf8.count <= Self.maximumText ? text + piece : nil
        case .end(let name): self.ended(name)
        }
    }

    private mutating func started(_ name: String, _ attributes: [String: String]) throws(XMLScanner.Malformed) {
        if !self.isGPX {
            guard name == "gpx" else { throw XMLScanner.Malformed(line: 1, reason: "the root element is not gpx") }
            self.isGPX = true
        }
        self.depth += 1
        if name == "extensions", self.extensionsDepth == nil { self.extensionsDepth = self.depth }
        if name == "trkpt", self.extensionsDepth == nil, self.point == nil {
            self.count += 1
            self.point = Point(depth: self.depth, coordinate: Self.coordinate(attributes))
        }
        if name == "wpt" || name == "rtept", self.extensionsDepth == nil { self.places += 1 }
        self.text = self.point == nil ? nil : ""
    }

    private mutating func ended(_ name: String) {
        defer {
            if self.extensionsDepth == self.depth { self.extensionsDepth = nil }
            self.depth -= 1
            self.text = nil
        }
        guard let point = self.point else { return }
        if self.depth == point.depth {
            self.pending.append(self.event(of: point))
            self.point = nil
        } else if let text = self.text, self.depth == point.depth + 1 || self.extensionsDepth != nil {
            self.point?.set(name, to: text, isExtension: self.extensionsDepth != nil)
        }
    }

    private static func coordinate(_ attributes: [String: String]) -> Coordinate? {
        func degrees(_ name: String) -> Double? {
            attributes[name].flatMap { Double(String(decoding: Self.trimmed($0), as: UTF8.self)) }
        }
        guard let latitude = degrees("lat"), let longitude = degrees("lon") else { return nil }
        return Coordinate(latitude: latitude, longitude: longitude)
    }

    /// Returns the bytes of a text without the white space before and after it.
    private static func trimmed(_ text: String) -> [UInt8] {
        text.utf8.drop(while: XMLTagReader.isSpace).reversed().drop(while: XMLTagReader.isSpace).reversed()
    }

    private func event(of point: Point) -> SourceEvent {
        guard let coordinate = point.coordinate else {
            return .badInput("track point \(self.count) has no valid position")
        }
        guard let time = point.time else { return .badInput("track point \(self.count) has no valid time") }
        var location = Location(coordinate: coordinate, time: time)
        location.altitude = point.elevation.map { $0 + (point.geoidHeight ?? 0) }?.ifFinite
        location.accuracyHorizontal = Self.known(point.dilution).map { Confidence.radius(dilution: $0) }
        location.accuracyVertical = Self.known(point.verticalDilution).map { $0 * Confidence.rangeError }
        location.speed = point.speed
        // A stationary point has no direction of travel, although many recorders write the last one, or 0.
        location.bearing = point.speed == 0 ? nil : point.course?.normalizedBearing
        return .fix(location)
    }

    /// Returns a dilution of precision (HDOP or VDOP) unchanged, or `nil` for values that mean "unknown": recorders and
    /// receivers write 0 or 99.99 for them.
    private static func known(_ dilution: Double?) -> Double? { dilution.flatMap { $0 > 0 && $0 < 99 ? $0 : nil } }
}
