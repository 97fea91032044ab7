extension JSONWriter {
    /// Writes a finite number: the shortest decimal that reads back as the same `Double`, whole numbers without a fraction.
    ///
    /// A value that is the nearest `Double` to a decimal of at most 15 digits, as fixes and their times are, is written
    /// by integer arithmetic: no shorter decimal can be nearest to the same value. The rest is left to the standard library.
    mutating func number(_ value: Double) {
        let magnitude = value.magnitude
        let (scale, decimals): (Double, Int) = magnitude < 1e8 ? (1e7, 7) : magnitude < 1e11 ? (1e4, 4) : (1, 0)
        let scaled = (magnitude * scale).rounded()
        guard scaled < 1e15, scaled / scale == magnitude else {
            let text = value.description
            self.raw(Array(text.hasSuffix(".0") ? text.utf8.dropLast(2) : text.utf8[...]))
            return
        }
        if value < 0 { self.bytes.append(UInt8(ascii: "-")) }
        self.digits(UInt64(scaled), decimals: decimals)
    }

    /// Writes `value` / 10^`decimals` without trailing zeros after the point.
    mutating func digits(_ value: UInt64, decimals: Int) {
        var rest = value
        var decimals = decimals
        while decimals > 0, rest % 10 == 0 {
            rest /= 10
            decimals -= 1
        }
        var buffer: InlineArray<24, UInt8> = .init(repeating: UInt8(ascii: "0"))
        var position = 24
        var written = 0
        repeat {
            if written == decimals, written > 0 {
                position -= 1
                buffer[position] = UInt8(ascii: ".")
            }
            position -= 1
            buffer[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            written += 1
        } while rest > 0 || written <= decimals
        for index in position..<24 { self.bytes.append(buffer[index]) }
    }
}
