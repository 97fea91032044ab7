/// Parses and writes times in the ISO 8601 form of gpsd and GPX: `2019-02-18T07:45:50Z`. A fraction is optional. The
/// end is `Z`, an offset from UTC, or nothing, which means UTC.
package enum ISO8601 {
    /// Returns a time as ISO 8601 text in UTC, with up to six decimals: `2019-02-18T07:45:50.25Z`.
    ///
    /// A `Double` distinguishes microseconds in the usual range of times, so parsing the text returns the same time.
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

    /// Parses a time in ISO 8601 form, such as `2019-02-18T07:45:50Z`; returns `nil` for any other text.
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

    /// Parses an offset from UTC, such as `+02:00`, and returns it in seconds. Returns 0 for `Z` and for no text, and
    /// `nil` for anything else.
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

/// A scanner that reads ASCII text consisting of digits and separators, such as a date.
package struct DigitScanner<Text: Collection<UInt8>> {
    private let text: Text
    private var index: Text.Index

    /// Makes a scanner that reads `text` from its beginning.
    package init(_ text: Text) {
        self.text = text
        self.index = text.startIndex
    }

    /// `true` when every character of the text was read.
    package var isAtEnd: Bool { self.index == self.text.endIndex }

    /// Reads exactly `count` digits, and returns the whole number that they form. Returns `nil` when there are fewer
    /// digits.
    package mutating func digits(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let digit = self.digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Reads the digits after a decimal point, and returns them as a value below 1. Reads at least one digit, else
    /// returns `nil`. Digits after the ninth are ignored.
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

    /// Reads the given character if it is the next one. Returns `true` if it was read.
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
