/// What ``JSONScanner`` throws. It carries nothing, so that the way that nearly every message takes pays nothing for it;
/// what was wrong is written down in ``JSONScanner/failure``.
struct Refusal: Error {}

/// Reads JSON (RFC 8259) value by value, without building a tree.
///
/// Strict where a mistake could hide (grammar, UTF-8, surrogates, numbers that are not finite), bounded in depth. Of
/// members of the same name the caller sees each, so the last one wins.
///
/// It reads through pointers because it runs for every fix of every trackable: slices and their reference counts made it
/// several times slower. `position` moves past a byte only after that byte was seen to be there.
struct JSONScanner {
    private let start: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    /// Where the next byte is; `end` at the end of the input.
    private(set) var position: UnsafePointer<UInt8>
    /// How many more objects and arrays may be opened inside each other.
    var remainingDepth: Int
    /// Whether an object or array was opened and nothing of it was read yet.
    private var isAtStart = false
    /// The name of the member that ``nextMember()`` came to.
    var key = StringToken.empty
    /// Where the object that is read stands; with `prefix` and `key` it names a member in errors.
    var root = WireRoot.message
    /// What stands between `root` and `key`.
    var prefix: StaticString = ""
    /// Why ``Refusal`` was thrown.
    private(set) var failure: TrackingError?

    /// Reads `bytes`, which are known to be UTF-8 and outlive the scanner.
    init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = WireLimits.maximumDepth) {
        let nothing: StaticString = ""
        self.start = bytes.baseAddress ?? nothing.utf8Start
        self.end = self.start + bytes.count
        self.position = self.start
        self.remainingDepth = maximumDepth
    }

    /// Reads a payload from the network: checks its size, its version and that it is UTF-8, skips a byte order mark, lets
    /// `read` read and checks that nothing is left.
    static func read<Value>(
        _ payload: UnsafeBufferPointer<UInt8>, _ read: (inout JSONScanner) throws(Refusal) -> Value
    ) throws(TrackingError) -> Value {
        guard payload.count <= WireLimits.maximumPayloadBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "a payload has at most \(WireLimits.maximumPayloadBytes) bytes; this one has \(payload.count)")
        }
        if let first = payload.first, first <= 0x08 {
            throw TrackingError(.invalidPayload, "a binary payload of a later version of the protocol")
        }
        guard payload.isUTF8 else { throw TrackingError(.invalidPayload, "not JSON: the payload is not UTF-8") }
        var scanner = JSONScanner(payload)
        if scanner.byte == 0xEF, payload.starts(with: [0xEF, 0xBB, 0xBF]) { scanner.position += 3 }
        do {
            let value = try read(&scanner)
            guard scanner.peek() == 0, scanner.isAtEnd else { throw scanner.syntaxError("the end") }
            return value
        } catch {
            throw scanner.failure ?? TrackingError(.invalidPayload, "not JSON")
        }
    }

    // MARK: Bytes

    /// The byte that comes next, white space included; 0, which no value contains, at the end.
    var byte: UInt8 {
        @inline(__always) get { self.position < self.end ? self.position.pointee : 0 }
    }

    /// The first byte of what comes next, white space passed over; 0, which begins nothing, at the end.
    @inline(__always)
    mutating func peek() -> UInt8 {
        let byte = self.byte
        return byte > 0x20 ? byte : self.byteAfterWhiteSpace()
    }

    private mutating func byteAfterWhiteSpace() -> UInt8 {
        self.advance { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        return self.byte
    }

    /// How many bytes were read.
    var offset: Int { self.position - self.start }

    /// Whether every byte was read.
    var isAtEnd: Bool { self.position == self.end }

    /// Passes over the byte that was just seen to be there.
    @inline(__always)
    mutating func advance() { self.position += 1 }

    /// Passes over bytes while `condition` holds.
    @inline(__always)
    mutating func advance(while condition: (UInt8) -> Bool) {
        var position = self.position
        while position < self.end, condition(position.pointee) { position += 1 }
        self.position = position
    }

    /// Passes over the bytes of a string up to a quotation mark, a reverse solidus or a control character.
    ///
    /// Eight at a time: a byte that is to be found has its highest bit set in `found`, and nothing below the first one has.
    @inline(__always)
    mutating func advanceInString() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        while self.end - self.position >= 8 {
            let eight = UInt64(littleEndian: UnsafeRawPointer(self.position).loadUnaligned(as: UInt64.self))
            let quotes = eight ^ (ones &* 0x22)
            let solidi = eight ^ (ones &* 0x5C)
            let found =
                ((quotes &- ones) & ~quotes | (solidi &- ones) & ~solidi | (eight &- ones &* 0x20) & ~eight)
                & (ones &* 0x80)
            guard found == 0 else {
                self.position += found.trailingZeroBitCount >> 3
                return
            }
            self.position += 8
        }
        self.advance { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// The bytes that were read since `position` was `start`.
    @inline(__always)
    func read(since start: UnsafePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: start, count: self.position - start)
    }

    // MARK: Objects and arrays

    /// Opens an object; then ``nextMember()`` leads from member to member.
    mutating func beginObject() throws(Refusal) {
        guard self.peek() == UInt8(ascii: "{") else { throw self.mismatch("an object") }
        try self.open()
    }

    /// Opens an array; then ``nextElement()`` leads from element to element.
    mutating func beginArray() throws(Refusal) {
        guard self.peek() == UInt8(ascii: "[") else { throw self.mismatch("an array") }
        try self.open()
    }

    /// Reads the name of the next member into ``key`` and stops before its value; false where the object ends.
    mutating func nextMember() throws(Refusal) -> Bool {
        guard try self.next(orClose: UInt8(ascii: "}"), "',' or '}'") else { return false }
        guard self.peek() == UInt8(ascii: "\"") else { throw self.syntaxError("the name of a member") }
        self.key = try self.stringToken()
        guard self.peek() == UInt8(ascii: ":") else { throw self.syntaxError("':'") }
        self.advance()
        return true
    }

    /// Stops before the next element; false where the array ends.
    mutating func nextElement() throws(Refusal) -> Bool {
        try self.next(orClose: UInt8(ascii: "]"), "',' or ']'")
    }

    private mutating func open() throws(Refusal) {
        guard self.remainingDepth > 0 else {
            throw self.refuse("objects and arrays are nested too deep at byte \(self.offset)")
        }
        self.remainingDepth &-= 1
        self.advance()
        self.isAtStart = true
    }

    @inline(__always)
    private mutating func next(orClose close: UInt8, _ expected: StaticString) throws(Refusal) -> Bool {
        let byte = self.peek()
        if byte == UInt8(ascii: ","), !self.isAtStart {
            self.advance()
            return true
        }
        let wasAtStart = self.isAtStart
        self.isAtStart = false
        guard byte == close else {
            guard wasAtStart else { throw self.syntaxError(expected) }
            return true
        }
        self.advance()
        self.remainingDepth &+= 1
        return false
    }

    // MARK: Errors

    /// Writes down what is wrong.
    mutating func refuse(_ message: String) -> Refusal {
        self.failure = TrackingError(.invalidPayload, message)
        return Refusal()
    }

    /// Bytes that are not JSON.
    mutating func syntaxError(_ expected: StaticString) -> Refusal {
        self.refuse("not JSON: expected \(expected) at byte \(self.offset)")
    }

    /// The value of the member ``key`` is not what it must be; `found` is what it is instead.
    mutating func mismatch(_ expected: String, found: StaticString) -> Refusal {
        self.refuse("\(self.root.path(self.member)) must be \(expected); found \(found)")
    }

    /// The member that is read, beneath ``root``: of one that ``prefix`` names as a whole, the member inside.
    private var member: String {
        let (prefix, key) = (self.prefix.description, self.key.text)
        return prefix.isEmpty || key.isEmpty || prefix.hasSuffix(".") ? prefix + key : "\(prefix).\(key)"
    }

    /// The value that comes next is of the wrong kind, or not JSON.
    mutating func mismatch(_ expected: String) -> Refusal {
        var ahead = self
        do throws(Refusal) {
            try ahead.skipValue()
            return self.mismatch(expected, found: self.kindOfValue)
        } catch {
            self.failure = ahead.failure
            return error
        }
    }

    /// A member beneath ``root`` that a message cannot do without is not there.
    mutating func missing(_ member: StaticString) -> Refusal {
        self.refuse("\(self.root.path(member.description)) is missing")
    }

    private var kindOfValue: StaticString {
        switch self.byte {
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "true or false"
        case UInt8(ascii: "n"): "null"
        default: "a number"
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether these bytes are well-formed UTF-8.
    var isUTF8: Bool {
        if self.reduce(0, |) < 0x80 { return true }
        return (try? UTF8Span(validating: self.span)) != nil
    }
}
