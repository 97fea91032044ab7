/// Reads the moments that gpsd and GPX write: `2019-02-18T07:45:50Z`, with any fraction, `Z`, an offset or nothing (UTC);
/// and writes them.
package enum ISO8601 {
    /// The moment in UTC, with as many of six decimals as it has: `2019-02-18T07:45:50.25Z`.
    ///
    /// A microsecond is what a `Double` of this size still tells apart, so that reading gives the same moment back.
    package static func text(_ time: UnixTime) -> String {
        let microseconds = (max(-1e11, min(1e11, time.seconds)) * 1e6).rounded()
        let days = (microseconds / (CivilTime.secondsPerDay * 1e6)).rounded(.down)
        let (year, month, day) = CivilTime.date(days: Int(days))
        let (seconds, fraction) = (Int(microseconds) - Int(days) * 86_400_000_000).quotientAndRemainder(
            dividingBy: 1_000_000)
        var text =
            "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))T\(Self.digits(seconds / 3600, 2)):"
            + "\(Self.digits(seconds / 60 % 60, 2)):\(Self.digits(seconds % 60, 2))"
        if fraction > 0 {
            text += ".\(Self.digits(fraction, 6))"
            while text.utf8.last == UInt8(ascii: "0") { text.removeLast() }
        }
        return text + "Z"
    }

    private static func digits(_ number: Int, _ width: Int) -> String {
        let digits = String(number.magnitude)
        return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// The moment that `text` names, or `nil` where it names none.
    package static func parse(_ text: some Collection<UInt8>) -> UnixTime? {
        var scanner = DigitScanner(text)
        guard let year = scanner.digits(4), scanner.take("-"), let month = scanner.digits(2), scanner.take("-"),
            let day = scanner.digits(2), scanner.take("T") || scanner.take("t") || scanner.take(" "),
            let hour = scanner.digits(2), scanner.take(":"), let minute = scanner.digits(2), scanner.take(":"),
            let second = scanner.digits(2), let days = CivilTime.days(year: year, month: month, day: day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let fraction = scanner.take(".") || scanner.take(",") ? scanner.fraction() : 0
        guard let fraction, let offset = Self.offset(&scanner), scanner.isAtEnd else { return nil }
        let whole = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return UnixTime(Double(whole) + fraction)
    }

    /// The seconds that local time is ahead of UTC.
    private static func offset(_ scanner: inout DigitScanner<some Collection<UInt8>>) -> Int? {
        if scanner.isAtEnd || scanner.take("Z") || scanner.take("z") { return 0 }
        let sign: Int
        if scanner.take("+") { sign = 1 } else if scanner.take("-") { sign = -1 } else { return nil }
        guard let hours = scanner.digits(2), hours < 24 else { return nil }
        _ = scanner.take(":")
        guard let minutes = scanner.isAtEnd ? 0 : scanner.digits(2), minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}

/// Walks over ASCII text that is made of digits and separators.
package struct DigitScanner<Text: Collection<UInt8>> {
    private let text: Text
    private var index: Text.Index

    /// Starts at the beginning of `text`.
    package init(_ text: Text) {
        self.text = text
        self.index = text.startIndex
    }

    /// Whether nothing is left.
    package var isAtEnd: Bool { self.index == self.text.endIndex }

    /// Takes exactly `count` digits.
    package mutating func digits(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let digit = self.digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Takes the digits after a decimal point, at least one, as a value below 1; those after the ninth do not count.
    package mutating func fraction() -> Double? {
        guard let first = self.digit() else { return nil }
        var value = first
        var scale = 10
        while let digit = self.digit() {
            guard scale < 1_000_000_000 else { continue }
            value = value * 10 + digit
            scale *= 10
        }
        return Double(value) / Double(scale)
    }

    /// Takes this character if it is next.
    package mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard !self.isAtEnd, self.text[self.index] == UInt8(ascii: character) else { return false }
        self.text.formIndex(after: &self.index)
        return true
    }

    private mutating func digit() -> Int? {
        guard !self.isAtEnd, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self.text[self.index]) else { return nil }
        defer { self.text.formIndex(after: &self.index) }
        return Int(self.text[self.index] - UInt8(ascii: "0"))
    }
}
