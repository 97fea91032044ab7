import TrackingCore

/// Reads the history files that Ably Asset Tracking's publishers record, of the versions 1 and 2: a JSON object with
/// `version` and the points as GeoJSON Features in the list `events`. A file may contain several such objects.
///
/// The version may be before or after the events. A file of another version is rejected when its version is read.
struct AblyReader: RecordingDecoder {
    private var points = FeatureReader(of: .ably)
    private var version = VersionScanner()
    private var refusal: TrackingError?

    var failure: TrackingError? { self.refusal ?? self.points.failure }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        guard self.refusal == nil else { return [] }
        for index in bytes.indices {
            guard let version = self.version.take(bytes[index]), !Self.isKnown(version) else { continue }
            self.refusal = TrackingError(
                .inputUnreadable,
                "cannot read the history file of Ably Asset Tracking: its version is \(version.printable). The versions 1 and 2 can be read"
            )
            return self.points.append(bytes[..<index])
        }
        return self.points.append(bytes)
    }

    mutating func finish() -> [SourceEvent] { self.refusal == nil ? self.points.finish() : [] }

    /// Returns `true` for the number 1 and for the semantic versions 2.
    private static func isKnown(_ version: String) -> Bool {
        guard let major = Int(version.prefix { $0 != "." }) else { return false }
        return major == 1 || major == 2
    }
}

/// Finds the member `version` of each JSON object in a sequence of bytes. It examines only brackets and strings; the
/// grammar is checked elsewhere.
private struct VersionScanner: Sendable {
    /// The maximum number of bytes of a version. The rest of a longer one is ignored.
    private static let limit = 64

    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// The last string or scalar at the top level of the object, up to the limit.
    private var text: [UInt8] = []
    /// `true` while the value of the member `version` is being read.
    private var isInVersion = false

    /// Examines the next byte. Returns the version when the byte ends it, and otherwise `nil`.
    mutating func take(_ byte: UInt8) -> String? {
        if self.isInString {
            self.takeInString(byte)
            return nil
        }
        switch byte {
        case UInt8(ascii: "\""):
            self.isInString = true
            if self.depth == 1 { self.text = [] }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            // Objects may be inside an array that encloses all of them.
            if self.depth > 0 || byte == UInt8(ascii: "{") { self.depth += 1 }
            if self.depth == 1 { self.text = [] }
            self.isInVersion = false
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            defer { self.depth = max(0, self.depth - 1) }
            return self.endMember()
        case UInt8(ascii: ","): return self.endMember()
        case UInt8(ascii: ":") where self.depth == 1:
            self.isInVersion = self.text.elementsEqual("version".utf8)
            self.text = []
        case 0...0x20: break
        default: self.add(byte)
        }
        return nil
    }

    private mutating func takeInString(_ byte: UInt8) {
        if self.isEscaped {
            self.isEscaped = false
            self.add(byte)
        } else if byte == UInt8(ascii: "\\") {
            self.isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            self.isInString = false
        } else {
            self.add(byte)
        }
    }

    private mutating func add(_ byte: UInt8) {
        if self.depth == 1, self.text.count < Self.limit { self.text.append(byte) }
    }

    private mutating func endMember() -> String? {
        guard self.depth == 1, self.isInVersion else { return nil }
        self.isInVersion = false
        return String(decoding: self.text, as: UTF8.self)
    }
}
