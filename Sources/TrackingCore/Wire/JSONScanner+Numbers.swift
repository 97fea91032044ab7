extension JSONScanner {
    /// Reads the next number, rounded to the nearest `Double`; returns infinity when the number is too large.
    ///
    /// A significand up to 2^53 and a power of ten up to 10^22 are exact as `Double`. One multiplication or division of
    /// two exact values gives the correctly rounded result (Clinger 1990). All other numbers are converted by the
    /// standard library.
    @inline(__always)
    mutating func decimal() throws(Refusal) -> Double {
        let start = self.position
        let isNegative = self.byte == UInt8(ascii: "-")
        if isNegative { self.advance() }
        var significand: UInt64 = 0
        var digits = 1
        if self.byte == UInt8(ascii: "0") {
            self.advance()  // JSON has no leading zeros: what follows is no digit
        } else {
            digits = self.digits(&significand)
            guard digits > 0 else { throw self.syntaxError("a digit") }
        }
        var exponent = 0
        if self.byte == UInt8(ascii: ".") {
            self.advance()
            exponent = 0 &- self.digits(&significand)
            guard exponent < 0 else { throw self.syntaxError("a digit") }
            digits &-= exponent
        }
        if self.byte | 0x20 == UInt8(ascii: "e") { exponent &+= try self.exponent() }
        guard digits <= 19, significand <= 1 << 53, exponent >= -22, exponent <= 22 else {
            return Double(String(decoding: self.read(since: start), as: UTF8.self)) ?? .infinity
        }
        let magnitude =
            exponent < 0
            ? Double(significand) / Self.powersOfTen[0 &- exponent]
            : Double(significand) * Self.powersOfTen[exponent]
        return isNegative ? -magnitude : magnitude
    }

    /// Reads the decimal digits that follow and appends them to the number `significand`. With more than 19 digits in
    /// total, `significand` may wrap around.
    ///
    /// - Returns: The number of digits.
    @inline(__always)
    private mutating func digits(_ significand: inout UInt64) -> Int {
        let start = self.position
        var value = significand
        self.advance {
            guard $0.isDigit else { return false }
            value = value &* 10 &+ UInt64($0 & 15)
            return true
        }
        significand = value
        return self.position - start
    }

    private mutating func exponent() throws(Refusal) -> Int {
        self.advance()
        let sign = self.byte
        if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { self.advance() }
        var magnitude: UInt64 = 0
        let digits = self.digits(&magnitude)
        guard digits > 0 else { throw self.syntaxError("a digit") }
        let exponent = digits > 9 ? 1_000_000_000 : Int(magnitude)
        return sign == UInt8(ascii: "-") ? -exponent : exponent
    }

    private static let powersOfTen: [23 of Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}

extension UInt8 {
    /// `true` for the ASCII codes of `0` to `9`.
    var isDigit: Bool {
        @inline(__always) get { self &- UInt8(ascii: "0") <= 9 }
    }
}
