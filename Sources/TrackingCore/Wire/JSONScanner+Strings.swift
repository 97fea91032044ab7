private import SystemLibrary

/// The bytes of a JSON string between its quotation marks. Escapes such as `\n` were checked, but are not replaced yet.
/// The bytes belong to the scanner's input and are valid as long as that input.
package struct StringToken {
    let bytes: UnsafeBufferPointer<UInt8>
    let hasEscapes: Bool

    static var empty: StringToken { StringToken(bytes: UnsafeBufferPointer(start: nil, count: 0), hasEscapes: false) }

    /// The text of the JSON string, with its escapes replaced by the characters that they stand for.
    var text: String {
        self.hasEscapes
            ? String(decoding: JSONScanner.resolve(self.bytes), as: UTF8.self)
            : String(decoding: self.bytes, as: UTF8.self)
    }

    /// Returns `true` when the string, with its escapes resolved, equals `word`.
    func equals(_ word: String) -> Bool {
        if self.hasEscapes { return self.text == word }
        var word = word
        return word.withUTF8 { self.equals($0.baseAddress, $0.count) }
    }

    @inline(__always)
    private func equals(_ word: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
        guard count == self.bytes.count, let word, let bytes = self.bytes.baseAddress else { return false }
        return memcmp(bytes, word, count) == 0
    }

    /// Returns `true` when the JSON string, with its escapes resolved, equals the literal `name`. With this operator, a
    /// `switch` can match member names.
    @inline(__always)
    package static func ~= (name: StaticString, token: StringToken) -> Bool {
        token.hasEscapes ? token.text == name.description : token.equals(name.utf8Start, name.utf8CodeUnitCount)
    }
}

extension JSONScanner {
    /// Reads a string and checks its escapes, which remain in the returned token. The current position must be its
    /// opening quotation mark.
    @inline(__always)
    mutating func stringToken() throws(Refusal) -> StringToken {
        self.advance()
        let start = self.position
        self.advanceInString()
        guard self.byte == UInt8(ascii: "\"") else { return try self.escapedToken(since: start) }
        let token = StringToken(bytes: self.read(since: start), hasEscapes: false)
        self.advance()
        return token
    }

    private mutating func escapedToken(since start: UnsafePointer<UInt8>) throws(Refusal) -> StringToken {
        while self.byte == UInt8(ascii: "\\") {
            try self.skipEscape()
            self.advanceInString()
        }
        guard self.byte == UInt8(ascii: "\"") else { throw self.syntaxError("'\"' or a character") }
        let token = StringToken(bytes: self.read(since: start), hasEscapes: true)
        self.advance()
        return token
    }

    private mutating func skipEscape() throws(Refusal) {
        self.advance()
        guard self.byte == UInt8(ascii: "u") else {
            guard Self.plainEscape(self.byte) != nil else { throw self.syntaxError("an escape that JSON knows") }
            self.advance()
            return
        }
        let first = try self.skipHexadecimal()
        guard (0xD800...0xDFFF).contains(first) else { return }
        guard first < 0xDC00, self.byte == UInt8(ascii: "\\") else { throw self.syntaxError("a surrogate pair") }
        self.advance()
        guard self.byte == UInt8(ascii: "u"), (0xDC00...0xDFFF).contains(try self.skipHexadecimal()) else {
            throw self.syntaxError("a surrogate pair")
        }
    }

    /// Reads the letter `u` of a string's escape and the four hexadecimal digits after it. Returns the number that the
    /// digits denote.
    private mutating func skipHexadecimal() throws(Refusal) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            self.advance()
            guard let digit = Self.hexadecimalDigit(self.byte) else {
                throw self.syntaxError("four hexadecimal digits")
            }
            value = value << 4 | digit
        }
        self.advance()
        return value
    }

    /// Returns the bytes of a string with its escapes replaced by the characters that they stand for. The escapes must
    /// be valid.
    fileprivate static func resolve(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
                result.append(byte)
                continue
            }
            guard letter == UInt8(ascii: "u") else {
                result.append(Self.plainEscape(letter) ?? letter)
                continue
            }
            var units = [Self.hexadecimal(rest.prefix(4))]
            rest = rest.dropFirst(4)
            if UTF16.isLeadSurrogate(units[0]) {
                units.append(Self.hexadecimal(rest.dropFirst(2).prefix(4)))
                rest = rest.dropFirst(6)
            }
            result += Array(String(decoding: units, as: UTF16.self).utf8)
        }
        return result
    }

    private static func hexadecimal(_ digits: some Sequence<UInt8>) -> UInt16 {
        digits.reduce(0) { $0 << 4 | (Self.hexadecimalDigit($1) ?? 0) }
    }

    private static func plainEscape(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    private static func hexadecimalDigit(_ letter: UInt8) -> UInt16? {
        switch letter {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(letter - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(letter - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(letter - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
