public import TrackingCore

/// Functions that parse times and durations in the notation of the command line.
public enum HistoryTime {
    /// Parses a time: RFC 3339 (`2026-05-04T09:30:00Z`, `2026-05-04T11:30:00+02:00`), `now`, or a duration before now
    /// (`10m`, see ``span(_:)``).
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - now: The current time.
    /// - Throws: `TrackingError.Code.invalidConfiguration` with the expected notation.
    public static func moment(_ text: String, now: UnixTime) throws(TrackingError) -> UnixTime {
        if text == "now" { return now }
        if text.contains("-") || text.contains(":") { return try self.date(text) }
        let rule = "the time must be RFC 3339 (2026-05-04T09:30:00Z), now, or"
        return now.advanced(by: .zero - (try self.span(text, rule)))
    }

    /// Parses a duration: one or several integers with `s`, `m`, `h`, `d` or `w`, for example `1h30m`. The duration is
    /// above 0 and at most 1,000 years.
    ///
    /// - Throws: `TrackingError.Code.invalidConfiguration` with the expected notation.
    public static func span(_ text: String) throws(TrackingError) -> Duration {
        try self.span(text, "the span of time must be")
    }

    private static let units: [(letter: Character, seconds: Int)] = [
        ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
    ]
    private static let longest = 1000 * 365 * 86_400

    private static func span(_ text: String, _ rule: String) throws(TrackingError) -> Duration {
        let refusal = TrackingError(
            .invalidConfiguration,
            "\(rule) a whole number with s, m, h, d or w (10m, 2h, 1h30m, 3d), not '\(text.prefix(40))'")
        var rest = text[...]
        var seconds = 0
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            guard let letter = rest.popFirst(), let unit = self.units.first(where: { $0.letter == letter }),
                digits.utf8.count <= 11, let number = Int(digits)
            else { throw refusal }
            seconds += number * unit.seconds
            guard seconds <= self.longest else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the span of time '\(text.prefix(40))' is too long: at most 1,000 years are allowed")
            }
        }
        guard !text.isEmpty else { throw refusal }
        guard seconds > 0 else {
            throw TrackingError(.invalidConfiguration, "the span of time must be above 0, not '\(text.prefix(40))'")
        }
        return .seconds(seconds)
    }

    private static func date(_ text: String) throws(TrackingError) -> UnixTime {
        guard let time = ISO8601.parse(text.utf8) else {
            throw TrackingError(
                .invalidConfiguration,
                "'\(text.prefix(40))' is not a time: write a date of the years 1 to 5000, T, a time of day and a zone, as in "
                    + "2026-05-04T09:30:00Z"
            )
        }
        // A sign after the date belongs to an offset.
        let clock = text.utf8.dropFirst(10)
        guard
            text.utf8.last == UInt8(ascii: "Z") || text.utf8.last == UInt8(ascii: "z")
                || clock.contains(UInt8(ascii: "+")) || clock.contains(UInt8(ascii: "-"))
        else {
            throw TrackingError(
                .invalidConfiguration,
                "the time '\(text)' has no time zone: end it with Z for UTC, or with an offset such as +02:00")
        }
        return time
    }
}
