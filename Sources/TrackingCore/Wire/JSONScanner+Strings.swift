extension JSONScanner {
    /// Reads a string.
    mutating func text(_ path: WirePath) throws(TrackingError) -> String {
        guard self.peek() == UInt8(ascii: "\"") else { throw self.mismatch(path, "a string") }
        return String(decoding: try self.stringBytes(), as: UTF8.self)
    }

    /// Reads a string that `convert` accepts.
    mutating func text<Value>(
        _ path: WirePath, _ expected: StaticString, _ convert: (String) -> Value?
    ) throws(TrackingError) -> Value {
        let start = (self.peek(), self.index).1
        guard let value = convert(try self.text(path)) else {
            self.index = start
            throw self.mismatch(path, "\(expected)")
        }
        return value
    }

    /// Reads one of the names of an enumeration.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ path: WirePath, _: Choice.Type = Choice.self
    ) throws(TrackingError) -> Choice {
        _ = self.peek()
        let start = self.index
        guard let choice = Choice(rawValue: try self.text(path)) else {
            self.index = start
            throw self.mismatch(path, "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }

    /// Reads the string that begins here, escapes resolved.
    mutating func stringBytes() throws(TrackingError) -> ArraySlice<UInt8> {
        let start = self.index + 1
        var position = start
        while position < self.bytes.endIndex {
            let byte = self.bytes[position]
            if byte == UInt8(ascii: "\"") {
                self.index = position + 1
                return self.bytes[start..<position]
            }
            guard byte >= 0x20, byte != UInt8(ascii: "\\") else { break }
            position += 1
        }
        self.index = position
        return try self.escapedBytes(after: self.bytes[start..<position])
    }

    /// Goes on reading a string in which an escape, or the end of the input, was met after `beginning`.
    private mutating func escapedBytes(after beginning: ArraySlice<UInt8>) throws(TrackingError) -> ArraySlice<UInt8> {
        var result = Array(beginning)
        while let byte = self.take() {
            switch byte {
            case UInt8(ascii: "\""): return result[...]
            case UInt8(ascii: "\\"): try self.resolveEscape(into: &result)
            case 0x20...: result.append(byte)
            default:
                self.index -= 1
                throw self.syntaxError("an escape instead of a control character")
            }
        }
        throw self.syntaxError("'\"'")
    }

    private mutating func resolveEscape(into result: inout [UInt8]) throws(TrackingError) {
        switch self.take() {
        case UInt8(ascii: "\""): result.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): result.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): result.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0C)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"): result += Array(String(try self.escapedScalar()).utf8)
        default: throw self.syntaxError("an escape that JSON knows")
        }
    }

    /// Reads what follows `\u`, the second half of a surrogate pair included.
    private mutating func escapedScalar() throws(TrackingError) -> Unicode.Scalar {
        let first = try self.hexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first < 0xDC00, self.take() == UInt8(ascii: "\\"), self.take() == UInt8(ascii: "u") {
            let second = try self.hexadecimal()
            if (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            {
                return scalar
            }
        }
        throw self.syntaxError("both halves of a surrogate pair")
    }

    private mutating func hexadecimal() throws(TrackingError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = self.take(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw self.syntaxError("four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    private mutating func take() -> UInt8? {
        guard self.index < self.bytes.endIndex else { return nil }
        defer { self.index += 1 }
        return self.bytes[self.index]
    }
}
