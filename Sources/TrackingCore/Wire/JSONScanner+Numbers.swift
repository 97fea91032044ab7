extension JSONScanner {
    /// Reads a number that `rule` allows.
    mutating func number(_ path: WirePath, _ rule: NumberRule) throws(TrackingError) -> Double {
        let first = self.peek()
        guard first == UInt8(ascii: "-") || first.isDigit else { throw self.mismatch(path, "\(rule.words)") }
        let start = self.index
        let value = try self.decimal("a number").value(of: self.bytes, from: start, to: self.index)
        guard rule.allows(value) else {
            throw TrackingError(.invalidPayload, "\(path.text) must be \(rule.words); found a number out of range")
        }
        return value
    }

    /// Reads a number that `rule` allows, or a `null` that stands for its absence.
    mutating func optionalNumber(_ path: WirePath, _ rule: NumberRule) throws(TrackingError) -> Double? {
        try self.skipNull() ? nil : try self.number(path, rule)
    }

    /// Reads a whole number; `7.0` and `7e0` are whole, too.
    mutating func integer(_ path: WirePath, _ range: ClosedRange<Int>) throws(TrackingError) -> Int {
        let words = NumberRule.finite
        let value = try self.number(path, words)
        guard let integer = Int(exactly: value), range.contains(integer) else {
            throw TrackingError(
                .invalidPayload,
                "\(path.text) must be a whole number from \(range.lowerBound) to \(range.upperBound); "
                    + "found another number")
        }
        return integer
    }

    /// Passes over one number and collects its digits.
    mutating func decimal(_ expected: StaticString) throws(TrackingError) -> ScannedDecimal {
        var decimal = ScannedDecimal()
        if self.byte == UInt8(ascii: "-") {
            decimal.isNegative = true
            self.index += 1
        }
        if self.byte == UInt8(ascii: "0") {
            self.index += 1  // JSON has no leading zeros: no digit may follow
        } else if !self.digits(into: &decimal) {
            throw self.syntaxError(expected)
        }
        if self.byte == UInt8(ascii: ".") {
            self.index += 1
            let start = self.index
            guard self.digits(into: &decimal) else { throw self.syntaxError("a digit") }
            decimal.exponent -= self.index - start
        }
        if self.byte == UInt8(ascii: "e") || self.byte == UInt8(ascii: "E") {
            self.index += 1
            try self.exponent(into: &decimal)
        }
        return decimal
    }

    private mutating func digits(into decimal: inout ScannedDecimal) -> Bool {
        let start = self.index
        while self.byte.isDigit {
            decimal.append(self.byte - UInt8(ascii: "0"))
            self.index += 1
        }
        return self.index > start
    }

    private mutating func exponent(into decimal: inout ScannedDecimal) throws(TrackingError) {
        let sign = self.byte
        if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { self.index += 1 }
        let start = self.index
        var exponent = 0
        while self.byte.isDigit {
            exponent = min(exponent * 10 + Int(self.byte - UInt8(ascii: "0")), 100_000_000)
            self.index += 1
        }
        guard self.index > start else { throw self.syntaxError("a digit") }
        decimal.exponent += sign == UInt8(ascii: "-") ? -exponent : exponent
    }

    /// The byte that comes next, white space included; 0 at the end.
    private var byte: UInt8 { self.index < self.bytes.endIndex ? self.bytes[self.index] : 0 }
}

/// The digits of a number: ± `significand` · 10^`exponent`, exact while there are at most 19 digits.
struct ScannedDecimal {
    var significand: UInt64 = 0
    var exponent = 0
    var isNegative = false
    private var digits = 0

    mutating func append(_ digit: UInt8) {
        if self.significand > 0 || digit > 0 { self.digits += 1 }
        self.significand = self.significand &* 10 &+ UInt64(digit)
    }

    /// The nearest `Double`; infinite when the number is too large. `bytes` are the number as it was written.
    ///
    /// Up to 2^53 the significand, and up to 10^22 the power of ten are exact, so one division or multiplication rounds
    /// once and correctly (Clinger 1990). Everything else is left to the standard library.
    func value(of bytes: ArraySlice<UInt8>, from start: Int, to end: Int) -> Double {
        guard self.digits <= 19, self.significand <= 1 << 53, (-22...22).contains(self.exponent) else {
            let text = String(decoding: bytes[start..<end], as: UTF8.self)
            return Double(text) ?? .infinity
        }
        let magnitude =
            self.exponent < 0
            ? Double(self.significand) / Self.powersOfTen[-self.exponent]
            : Double(self.significand) * Self.powersOfTen[self.exponent]
        return self.isNegative ? -magnitude : magnitude
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}

extension UInt8 {
    /// Whether this is the ASCII code of `0` to `9`.
    var isDigit: Bool { self &- UInt8(ascii: "0") <= 9 }
}
