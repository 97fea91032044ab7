private import SystemLibrary
public import TrackingCore
private import TrackingRuntime

/// Converts times to text, and reads the device's wall clock.
public enum TimeText {
    /// Returns a time as RFC 3339 text in UTC with milliseconds: `2026-05-04T09:30:00.250Z`.
    public static func rfc3339(_ time: UnixTime) -> String {
        let (whole, milliseconds) = self.split(time)
        var parts = tm()
        var seconds = time_t(whole)
        gmtime_r(&seconds, &parts)
        let date =
            "\(self.pad(Int(parts.tm_year) + 1900, 4))-\(self.pad(Int(parts.tm_mon) + 1))-\(self.pad(Int(parts.tm_mday)))"
        return "\(date)T\(self.clock(parts)).\(self.pad(milliseconds, 3))Z"
    }

    /// Returns the time of day in this device's time zone: `09:30:00`.
    public static func local(_ time: UnixTime) -> String {
        var parts = tm()
        var seconds = time_t(self.split(time).0)
        localtime_r(&seconds, &parts)
        return self.clock(parts)
    }

    /// Returns a time in this device's time zone, with the zone's offset: `2026-05-04T11:30:00+0200`.
    static func zoned(_ time: UnixTime) -> String {
        var parts = tm()
        var seconds = time_t(self.split(time).0)
        localtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S%z", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The present time of the device's wall clock.
    public static var now: UnixTime { DeviceClock.wall }

    private static func split(_ time: UnixTime) -> (Int, Int) {
        let milliseconds = (max(-1e11, min(1e11, time.seconds)) * 1000).rounded()
        let whole = (milliseconds / 1000).rounded(.down)
        return (Int(whole), Int(milliseconds - whole * 1000))
    }

    private static func clock(_ parts: tm) -> String {
        "\(self.pad(Int(parts.tm_hour))):\(self.pad(Int(parts.tm_min))):\(self.pad(Int(parts.tm_sec)))"
    }

    private static func pad(_ value: Int, _ width: Int = 2) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension Double {
    /// Returns a number as text with this many digits after the decimal point. Very large numbers and numbers that are
    /// not finite have Swift's own text instead.
    public func text(digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        guard abs(self) < 1e15 / scale else { return "\(self)" }
        let scaled = Int64((self * scale).rounded())
        guard digits > 0 else { return String(scaled) }
        let (whole, rest) = scaled.magnitude.quotientAndRemainder(dividingBy: UInt64(scale))
        let fraction = String(rest)
        return (scaled < 0 ? "-" : "") + "\(whole)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}
