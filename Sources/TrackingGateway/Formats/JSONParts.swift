import TrackingCore

/// Splits JSON text into its values, looking only at brackets and quotation marks. Each value is parsed separately
/// afterwards, so that a malformed value does not affect the others.
enum JSONParts {
    /// Returns the source text of the only value in a JSON text.
    ///
    /// - Throws: `invalidPayload` if the text has no value, ends within the value, or continues after it.
    static func value(of text: ArraySlice<UInt8>) throws(TrackingError) -> ArraySlice<UInt8> {
        var scan = Scan(text)
        let value = try scan.value()
        guard scan.isAtEnd else {
            throw TrackingError(
                .invalidPayload, "the request's body is not valid JSON: there is text after the end of its value")
        }
        return value
    }

    /// Returns the source texts of consecutive JSON values, separated by white space or the record separator of RFC
    /// 8142.
    ///
    /// - Throws: `invalidPayload` if the text ends within a value or has anything else between two values;
    ///   `payloadTooLarge` if it has more than `limit` values.
    static func values(of text: ArraySlice<UInt8>, limit: Int) throws(TrackingError) -> [ArraySlice<UInt8>] {
        var scan = Scan(text)
        var values: [ArraySlice<UInt8>] = []
        while !scan.isAtEnd {
            guard values.count < limit else { throw Self.tooMany(limit) }
            values.append(try scan.value())
        }
        return values
    }

    /// Returns the source texts of the elements of a JSON list; `nil` if the value is not a list.
    ///
    /// - Throws: `invalidPayload` if the text ends before the list does, or an element is missing; `payloadTooLarge` if
    ///   the list has more than `limit` elements.
    static func elements(of list: ArraySlice<UInt8>, limit: Int) throws(TrackingError) -> [ArraySlice<UInt8>]? {
        var scan = Scan(list)
        guard scan.take(UInt8(ascii: "[")) else { return nil }
        var elements: [ArraySlice<UInt8>] = []
        while !scan.take(UInt8(ascii: "]")) {
            guard elements.count < limit else { throw Self.tooMany(limit) }
            elements.append(try scan.value())
            _ = scan.take(UInt8(ascii: ","))
        }
        return elements
    }

    /// Returns the source texts of the members of a JSON object, by name; `nil` if the value is not an object. Of
    /// several members of one name, the last one is returned.
    ///
    /// - Throws: `invalidPayload` if a member has no name, no colon or no value, or the text ends before the object
    ///   does; `payloadTooLarge` if the object has more than 1,000 members.
    static func members(of object: ArraySlice<UInt8>) throws(TrackingError) -> [String: ArraySlice<UInt8>]? {
        var scan = Scan(object)
        guard scan.take(UInt8(ascii: "{")) else { return nil }
        var members: [String: ArraySlice<UInt8>] = [:]
        while !scan.take(UInt8(ascii: "}")) {
            guard members.count < 1000 else {
                throw TrackingError(
                    .payloadTooLarge, "an object in the request has too many members: at most 1000 are allowed")
            }
            guard let name = try? JSONValue(json: try scan.value()).text, scan.take(UInt8(ascii: ":")) else {
                throw TrackingError(
                    .invalidPayload, "the request's body is not valid JSON: a member of an object has no name")
            }
            members[name] = try scan.value()
            _ = scan.take(UInt8(ascii: ","))
        }
        return members
    }

    /// Checks that at least one of the JSON texts is an object or a list, because only these can contain a record.
    ///
    /// - Throws: `invalidPayload` if there are texts and none of them can contain a record.
    static func requireRecords(in texts: [ArraySlice<UInt8>]) throws(TrackingError) {
        let beginnings = [UInt8(ascii: "{"), UInt8(ascii: "[")]
        guard texts.isEmpty || texts.contains(where: { $0.first.map(beginnings.contains) ?? false }) else {
            throw TrackingError(.invalidPayload, "the request's body contains neither a JSON object nor a JSON list")
        }
    }

    static func tooMany(_ limit: Int) -> TrackingError {
        TrackingError(
            .payloadTooLarge,
            "the request has too many records: at most \(limit) are allowed; send fewer in one request")
    }
}

/// A scanner of JSON text. It stores the place up to which the text was read, and moves this place behind one value
/// after the other.
private struct Scan {
    private let text: ArraySlice<UInt8>
    private var index: Int

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        self.index = text.startIndex
    }

    /// `true` if only white space remains in the JSON text.
    var isAtEnd: Bool {
        mutating get {
            self.passSpace()
            return self.index == self.text.endIndex
        }
    }

    /// Moves behind the given byte and returns `true` if this byte is the next one in the JSON text, not counting white
    /// space. Otherwise returns `false`.
    mutating func take(_ byte: UInt8) -> Bool {
        self.passSpace()
        guard self.index < self.text.endIndex, self.text[self.index] == byte else { return false }
        self.index += 1
        return true
    }

    /// Moves behind the next JSON value and returns its source text.
    ///
    /// - Throws: `invalidPayload` if the text ends within the value or has none.
    mutating func value() throws(TrackingError) -> ArraySlice<UInt8> {
        self.passSpace()
        let start = self.index
        var depth = 0
        while self.index < self.text.endIndex {
            switch self.text[self.index] {
            case UInt8(ascii: "\""):
                try self.passString()
                if depth == 0 { return self.text[start..<self.index] }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return try self.scalar(since: start) }
                depth -= 1
                if depth == 0 {
                    self.index += 1
                    return self.text[start..<self.index]
                }
            case UInt8(ascii: ","), UInt8(ascii: ":"), ...0x20:
                if depth == 0 { return try self.scalar(since: start) }
            default: break
            }
            self.index += 1
        }
        guard depth == 0 else { throw Self.brokenOff }
        return try self.scalar(since: start)
    }

    private func scalar(since start: Int) throws(TrackingError) -> ArraySlice<UInt8> {
        guard self.index > start else {
            throw self.index == self.text.endIndex
                ? Self.brokenOff
                : TrackingError(
                    .invalidPayload,
                    "the request's body is not valid JSON: a value is missing before ',', ':', ']' or '}'")
        }
        return self.text[start..<self.index]
    }

    private mutating func passString() throws(TrackingError) {
        self.index += 1
        while self.index < self.text.endIndex, self.text[self.index] != UInt8(ascii: "\"") {
            self.index += self.text[self.index] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard self.index < self.text.endIndex else { throw Self.brokenOff }
        self.index += 1
    }

    private mutating func passSpace() {
        // Passes a byte order mark, white space, and the record separator (0x1E), which is below 0x20.
        while self.index < self.text.endIndex,
            self.text[self.index] <= 0x20 || self.text[self.index...].prefix(3).elementsEqual([0xEF, 0xBB, 0xBF])
        {
            self.index += self.text[self.index] <= 0x20 ? 1 : 3
        }
    }

    private static let brokenOff = TrackingError(
        .invalidPayload, "the request's body is not valid JSON: it ends within a value")
}
