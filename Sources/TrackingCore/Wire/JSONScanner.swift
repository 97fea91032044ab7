/// The error that ``JSONScanner`` throws. It contains no data, so that throwing functions stay fast.
/// ``JSONScanner/failure`` contains the reason.
package struct Refusal: Error {}

/// A reader of JSON text (RFC 8259). It goes forward value by value and builds no tree.
///
/// The scanner rejects invalid grammar, invalid UTF-8, unpaired surrogates, numbers that are not finite, and too deep
/// nesting. When an object has several members of one name, the caller receives each of them.
///
/// The scanner reads through pointers for speed: array slices were several times slower.
package struct JSONScanner {
    private let start: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    /// The address of the next byte that the scanner reads; equal to `end` at the end of the JSON text.
    private(set) var position: UnsafePointer<UInt8>
    /// The number of further levels of nested objects and arrays that the scanner accepts.
    var remainingDepth: Int
    /// `true` directly after the scanner has read an opening brace or bracket, before the first member or element.
    private var isAtStart = false
    /// The name of the current member: the one that ``nextMember()`` found last.
    package internal(set) var key = StringToken.empty
    /// The path of the object that is being read, from the message on. Error messages name a member of the object by
    /// `root`, `prefix` and ``key`` together.
    var root = WireRoot.message
    /// The text before the member's name ``key`` in the paths of error messages, such as `properties.`. The path begins
    /// at the object ``root``.
    var prefix: StaticString = ""
    /// The reason for the last thrown ``Refusal``.
    private(set) var failure: TrackingError?

    /// Makes a scanner of `bytes`, which must be valid UTF-8 and outlive the scanner.
    init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = WireLimits.maximumDepth) {
        let nothing: StaticString = ""
        self.start = bytes.baseAddress ?? nothing.utf8Start
        self.end = self.start + bytes.count
        self.position = self.start
        self.remainingDepth = maximumDepth
    }

    /// Decodes a JSON payload with the closure `read`, which reads one value.
    ///
    /// Before it calls the closure, this function checks the size and the UTF-8, and skips a byte order mark. The
    /// function fails for a first byte up to 0x08, which means a binary format of a later protocol version. After the
    /// closure, the function fails if further bytes follow the value.
    package static func read<Value>(
        _ payload: UnsafeBufferPointer<UInt8>, maximumBytes: Int = WireLimits.maximumPayloadBytes,
        _ read: (inout JSONScanner) throws(Refusal) -> Value
    ) throws(TrackingError) -> Value {
        guard payload.count <= maximumBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "a payload may have at most \(maximumBytes) bytes; this one has \(payload.count) bytes"
            )
        }
        if let first = payload.first, first <= 0x08 {
            throw TrackingError(
                .invalidPayload,
                "cannot read the payload: it has a binary format of a later protocol version. Update this program")
        }
        guard payload.isUTF8 else { throw TrackingError(.invalidPayload, "the text is not JSON: it is not UTF-8") }
        var scanner = JSONScanner(payload)
        if scanner.byte == 0xEF, payload.starts(with: [0xEF, 0xBB, 0xBF]) { scanner.position += 3 }
        do {
            let value = try read(&scanner)
            guard scanner.peek() == 0, scanner.isAtEnd else { throw scanner.syntaxError("the end") }
            return value
        } catch {
            throw scanner.failure ?? TrackingError(.invalidPayload, "cannot read the payload: it is not JSON")
        }
    }

    // MARK: Bytes

    /// The next byte, without moving forward; white space counts too. At the end of the input it is 0, a byte that no
    /// JSON value contains.
    var byte: UInt8 {
        @inline(__always) get { self.position < self.end ? self.position.pointee : 0 }
    }

    /// Skips white space and returns the next byte, without moving behind it. Returns 0 at the end of the input,
    /// because no JSON value begins with 0.
    @inline(__always)
    mutating func peek() -> UInt8 {
        let byte = self.byte
        return byte > 0x20 ? byte : self.byteAfterWhiteSpace()
    }

    private mutating func byteAfterWhiteSpace() -> UInt8 {
        self.advance { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        return self.byte
    }

    /// The number of bytes of the JSON text before the scanner's current position.
    var offset: Int { self.position - self.start }

    /// `true` when the scanner has reached the end of the JSON text.
    var isAtEnd: Bool { self.position == self.end }

    /// Moves the scanner forward by one byte, which the caller has examined.
    @inline(__always)
    mutating func advance() { self.position += 1 }

    /// Moves the scanner forward as long as `condition` returns `true` for the next byte.
    @inline(__always)
    mutating func advance(while condition: (UInt8) -> Bool) {
        var position = self.position
        while position < self.end, condition(position.pointee) { position += 1 }
        self.position = position
    }

    /// Moves the scanner forward inside a string, up to the next quotation mark, backslash or control character.
    ///
    /// The loop examines eight bytes at once. In `found`, the lowest bit that is set belongs to the first of these
    /// characters.
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

    /// Returns the bytes of the JSON text from `start` to the scanner's current position.
    @inline(__always)
    func read(since start: UnsafePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: start, count: self.position - start)
    }

    // MARK: Objects and arrays

    /// Reads the opening brace of an object; fails for any other value. Then ``nextMember()`` reads each member's name.
    package mutating func beginObject() throws(Refusal) {
        guard self.peek() == UInt8(ascii: "{") else { throw self.mismatch("an object") }
        try self.open()
    }

    /// Reads the opening bracket of an array; fails for any other value. Then ``nextElement()`` advances to each
    /// element.
    package mutating func beginArray() throws(Refusal) {
        guard self.peek() == UInt8(ascii: "[") else { throw self.mismatch("an array") }
        try self.open()
    }

    /// Reads the name of the next member into ``key`` and stops before its value. Returns `false` at the end of the
    /// object.
    package mutating func nextMember() throws(Refusal) -> Bool {
        guard try self.next(orClose: UInt8(ascii: "}"), "',' or '}'") else { return false }
        guard self.peek() == UInt8(ascii: "\"") else { throw self.syntaxError("the name of a member") }
        self.key = try self.stringToken()
        guard self.peek() == UInt8(ascii: ":") else { throw self.syntaxError("':'") }
        self.advance()
        return true
    }

    /// Advances to the next element of the array that is being read, and stops before the element. Returns `false`
    /// after the closing bracket of the array.
    package mutating func nextElement() throws(Refusal) -> Bool {
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

    /// Stores `message` as the reason of the rejection in ``failure``, and returns the error to throw.
    mutating func refuse(_ message: String) -> Refusal {
        self.failure = TrackingError(.invalidPayload, message)
        return Refusal()
    }

    /// Returns the error for bytes that are not valid JSON at the current position. `expected` names the correct text
    /// for the error message.
    mutating func syntaxError(_ expected: StaticString) -> Refusal {
        self.refuse("the text is not JSON: expected \(expected) at byte \(self.offset)")
    }

    /// Returns the error for a wrong value of the member ``key``. For the error message, `expected` describes a correct
    /// value, and `found` the wrong one.
    mutating func mismatch(_ expected: String, found: StaticString) -> Refusal {
        self.refuse("\(self.root.path(self.member)) must be \(expected); found \(found)")
    }

    /// The path of the current member beneath ``root``, for error messages: ``prefix`` and ``key`` together.
    private var member: String {
        let (prefix, key) = (self.prefix.description, self.key.text)
        return prefix.isEmpty || key.isEmpty || prefix.hasSuffix(".") ? prefix + key : "\(prefix).\(key)"
    }

    /// Returns the error for the next value, which has a wrong kind, such as a string in place of a number. If the
    /// value is not valid JSON, returns the syntax error instead.
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

    /// Returns the error for a mandatory member that is absent. `member` is its path beneath ``root``.
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
    /// `true` when the bytes are well-formed UTF-8.
    var isUTF8: Bool {
        if self.reduce(0, |) < 0x80 { return true }
        return (try? UTF8Span(validating: self.span)) != nil
    }
}
