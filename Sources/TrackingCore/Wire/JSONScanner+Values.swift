extension JSONScanner {
    /// Skips the next JSON value, of any kind, and checks its grammar.
    package mutating func skipValue() throws(Refusal) {
        switch self.peek() {
        case UInt8(ascii: "\""): _ = try self.stringToken()
        case UInt8(ascii: "{"):
            try self.beginObject()
            while try self.nextMember() { try self.skipValue() }
        case UInt8(ascii: "["):
            try self.beginArray()
            while try self.nextElement() { try self.skipValue() }
        case UInt8(ascii: "t"): try self.skip("true")
        case UInt8(ascii: "f"): try self.skip("false")
        case UInt8(ascii: "n"): try self.skip("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try self.decimal()
        default: throw self.syntaxError("a value")
        }
    }

    /// Skips the next value if it is `null`, and returns `true`. Returns `false` for any other value, which is not
    /// skipped. In messages, `null` means that a member is absent.
    @inline(__always)
    package mutating func skipNull() throws(Refusal) -> Bool {
        guard self.peek() == UInt8(ascii: "n") else { return false }
        try self.skip("null")
        return true
    }

    private mutating func skip(_ word: StaticString) throws(Refusal) {
        for index in 0..<word.utf8CodeUnitCount {
            guard self.byte == word.utf8Start[index] else { throw self.syntaxError("a value") }
            self.advance()
        }
    }

    /// Reads the next JSON value, which must be `true` or `false`, and returns it. Fails for any other value.
    mutating func flag() throws(Refusal) -> Bool {
        let first = self.peek()
        guard first == UInt8(ascii: "t") || first == UInt8(ascii: "f") else { throw self.mismatch("true or false") }
        try self.skipValue()
        return first == UInt8(ascii: "t")
    }

    /// Reads a JSON string without resolving its escapes, such as `\n`. Fails for a value of another kind.
    package mutating func token() throws(Refusal) -> StringToken {
        guard self.peek() == UInt8(ascii: "\"") else { throw self.mismatch("a string") }
        return try self.stringToken()
    }

    /// Reads a JSON string and returns its text, with its escapes resolved. Fails for a value of another kind.
    package mutating func text() throws(Refusal) -> String { try self.token().text }

    /// Reads a JSON string and returns its text; returns `nil` for `null`. Fails for a value of another kind.
    mutating func optionalText() throws(Refusal) -> String? { try self.skipNull() ? nil : self.text() }

    /// Reads a string and converts it with `convert`. Fails when `convert` returns `nil`.
    mutating func text<Value>(
        _ expected: @autoclosure () -> String, _ convert: (String) -> Value?
    ) throws(Refusal) -> Value {
        guard let value = convert(try self.text()) else { throw self.mismatch(expected(), found: "another string") }
        return value
    }

    /// Reads a JSON string that is the raw value of a case of an enumeration, and returns the case. Fails for any other
    /// value.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _: Choice.Type = Choice.self
    ) throws(Refusal) -> Choice {
        let token = try self.token()
        for choice in Choice.allCases where token.equals(choice.rawValue) { return choice }
        throw self.mismatch(
            "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "), found: "another string")
    }

    /// Reads a JSON string that is the raw value of a case of an enumeration, and returns the case. Returns `nil` for
    /// any other string and for `null`; fails for a value of another kind.
    mutating func knownChoice<Choice: RawRepresentable<String> & CaseIterable>() throws(Refusal) -> Choice? {
        if try self.skipNull() { return nil }
        let token = try self.token()
        return Choice.allCases.first { token.equals($0.rawValue) }
    }

    /// Returns `true` if the next value is a number.
    package mutating func isAtNumber() -> Bool {
        let first = self.peek()
        return first.isDigit || first == UInt8(ascii: "-")
    }

    /// Reads a JSON number. Fails for a number outside the range of `rule`, and for a value of another kind.
    package mutating func number(_ rule: NumberRule) throws(Refusal) -> Double {
        guard self.isAtNumber() else { throw self.mismatch("\(rule.words)") }
        let value = try self.decimal()
        guard rule.allows(value) else { throw self.mismatch("\(rule.words)", found: "a number out of range") }
        return value
    }

    /// Reads a JSON number, or returns `nil` for `null`. Fails for a number outside the range of `rule`, and for a
    /// value of another kind.
    @inline(__always)
    mutating func optionalNumber(_ rule: NumberRule) throws(Refusal) -> Double? {
        try self.skipNull() ? nil : self.number(rule)
    }

    /// Reads a JSON number that is an integer; `7.0` and `7e0` count as integers. Fails for a number that is outside
    /// `range` or has a fraction, and for a value of another kind.
    package mutating func integer(_ range: ClosedRange<Int>) throws(Refusal) -> Int {
        guard let integer = Int(exactly: try self.number(.finite)), range.contains(integer) else {
            let words = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            throw self.mismatch(words, found: "another number")
        }
        return integer
    }
}
