/// Reads JSON (RFC 8259) value by value, without building a tree.
///
/// Strict where a mistake could hide (grammar, UTF-8, surrogates, numbers that are not finite), bounded in depth. Among
/// members of the same name the caller sees each, so the last one wins.
struct JSONScanner {
    /// The name of a member, escapes resolved. Matches string literals in a `switch`.
    struct Key {
        var bytes: ArraySlice<UInt8>

        static func ~= (name: StaticString, key: Key) -> Bool {
            guard key.bytes.count == name.utf8CodeUnitCount else { return false }
            return key.bytes.elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        }
    }

    let bytes: ArraySlice<UInt8>
    var index: Int
    /// How many more objects and arrays may be opened inside each other.
    var remainingDepth: Int
    /// The name of the member that ``nextMember()`` came to.
    private(set) var key: Key
    /// Whether an object or array was opened and nothing of it was read yet.
    private var isAtStart = false

    /// Reads `bytes`, which are known to be UTF-8.
    init(_ bytes: ArraySlice<UInt8>, maximumDepth: Int = WireLimits.maximumDepth) {
        self.bytes = bytes
        self.index = bytes.startIndex
        self.remainingDepth = maximumDepth
        self.key = Key(bytes: [])
    }

    /// Reads a payload from the network: checks its size, its version and that it is UTF-8; a byte order mark is skipped.
    init(payload: ArraySlice<UInt8>) throws(TrackingError) {
        guard payload.count <= WireLimits.maximumPayloadBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "a payload has at most \(WireLimits.maximumPayloadBytes) bytes; this one has \(payload.count)")
        }
        if let first = payload.first, first <= 0x08 {
            throw TrackingError(.invalidPayload, "a binary payload of a later version of the protocol")
        }
        guard payload.isUTF8 else { throw TrackingError(.invalidPayload, "not JSON: the payload is not UTF-8") }
        self.init(payload.starts(with: [0xEF, 0xBB, 0xBF]) ? payload.dropFirst(3) : payload)
    }

    /// The first byte of what comes next, white space passed over; 0, which begins nothing, at the end.
    mutating func peek() -> UInt8 {
        while self.index < self.bytes.endIndex {
            let byte = self.bytes[self.index]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            self.index += 1
        }
        return 0
    }

    /// Checks that nothing but white space is left.
    mutating func end() throws(TrackingError) {
        _ = self.peek()
        guard self.index == self.bytes.endIndex else { throw self.syntaxError("the end") }
    }

    // MARK: Objects and arrays

    /// Opens an object; then ``nextMember()`` leads from member to member.
    mutating func beginObject(_ path: WirePath) throws(TrackingError) {
        guard self.peek() == UInt8(ascii: "{") else { throw self.mismatch(path, "an object") }
        try self.open()
    }

    /// Opens an array; then ``nextElement()`` leads from element to element.
    mutating func beginArray(_ path: WirePath) throws(TrackingError) {
        guard self.peek() == UInt8(ascii: "[") else { throw self.mismatch(path, "an array") }
        try self.open()
    }

    /// Reads the name of the next member into ``key`` and stops before its value; false where the object ends.
    mutating func nextMember() throws(TrackingError) -> Bool {
        guard try self.next(orClose: UInt8(ascii: "}"), "',' or '}'") else { return false }
        guard self.peek() == UInt8(ascii: "\"") else { throw self.syntaxError("the name of a member") }
        self.key = Key(bytes: try self.stringBytes())
        guard self.peek() == UInt8(ascii: ":") else { throw self.syntaxError("':'") }
        self.index += 1
        return true
    }

    /// Stops before the next element; false where the array ends.
    mutating func nextElement() throws(TrackingError) -> Bool {
        try self.next(orClose: UInt8(ascii: "]"), "',' or ']'")
    }

    private mutating func open() throws(TrackingError) {
        guard self.remainingDepth > 0 else {
            throw TrackingError(.invalidPayload, "objects and arrays are nested too deep at byte \(self.offset)")
        }
        self.remainingDepth -= 1
        self.index += 1
        self.isAtStart = true
    }

    private mutating func next(orClose close: UInt8, _ expected: StaticString) throws(TrackingError) -> Bool {
        let byte = self.peek()
        let wasAtStart = self.isAtStart
        self.isAtStart = false
        if byte == close {
            self.index += 1
            self.remainingDepth += 1
            return false
        }
        if wasAtStart { return true }
        guard byte == UInt8(ascii: ",") else { throw self.syntaxError(expected) }
        self.index += 1
        return true
    }

    // MARK: Values

    /// Passes over one value of any kind, checking its grammar.
    mutating func skipValue() throws(TrackingError) {
        switch self.peek() {
        case UInt8(ascii: "\""): _ = try self.stringBytes()
        case UInt8(ascii: "{"):
            try self.open()
            while try self.nextMember() { try self.skipValue() }
        case UInt8(ascii: "["):
            try self.open()
            while try self.nextElement() { try self.skipValue() }
        case UInt8(ascii: "t"): try self.literal("true")
        case UInt8(ascii: "f"): try self.literal("false")
        case UInt8(ascii: "n"): try self.literal("null")
        default: _ = try self.decimal("a value")
        }
    }

    /// Passes over `null`, which stands for a member that is absent; false when something else comes.
    mutating func skipNull() throws(TrackingError) -> Bool {
        guard self.peek() == UInt8(ascii: "n") else { return false }
        try self.literal("null")
        return true
    }

    /// Reads `true` or `false`.
    mutating func flag(_ path: WirePath) throws(TrackingError) -> Bool {
        switch self.peek() {
        case UInt8(ascii: "t"): try self.literal("true")
        case UInt8(ascii: "f"):
            try self.literal("false")
            return false
        default: throw self.mismatch(path, "true or false")
        }
        return true
    }

    private mutating func literal(_ word: StaticString) throws(TrackingError) {
        let letters = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard self.bytes[self.index...].starts(with: letters) else { throw self.syntaxError("a value") }
        self.index += letters.count
    }

    // MARK: Errors

    private var offset: Int { self.index - self.bytes.startIndex }

    /// The error of bytes that are not JSON.
    func syntaxError(_ expected: StaticString) -> TrackingError {
        TrackingError(.invalidPayload, "not JSON: expected \(expected) at byte \(self.offset)")
    }

    /// The error of a value of the wrong kind or out of range; call it before the value is passed over.
    func mismatch(_ path: WirePath, _ expected: String) -> TrackingError {
        guard let found = self.kindOfValue else { return self.syntaxError("a value") }
        return TrackingError(.invalidPayload, "\(path.text) must be \(expected); found \(found)")
    }

    private var kindOfValue: StaticString? {
        guard self.index < self.bytes.endIndex else { return nil }
        switch self.bytes[self.index] {
        case UInt8(ascii: "\""): return "a string"
        case UInt8(ascii: "{"): return "an object"
        case UInt8(ascii: "["): return "an array"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return "true or false"
        case UInt8(ascii: "n"): return "null"
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return "a number"
        default: return nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether these bytes are well-formed UTF-8.
    var isUTF8: Bool {
        if self.reduce(0, |) < 0x80 { return true }
        return (try? UTF8Span(validating: self.span)) != nil
    }
}
