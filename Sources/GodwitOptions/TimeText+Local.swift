private import SystemLibrary
public import TrackingCore

extension TimeText {
    /// Returns a time with its date in this device's time zone, and the zone's distance from UTC:
    /// `2026-05-04 11:30:00 +02:00`.
    public static func localDate(_ time: UnixTime) -> String {
        var parts = tm()
        var seconds = time_t(max(-1e11, min(1e11, time.seconds)).rounded(.down))
        localtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, "%Y-%m-%d %H:%M:%S %z", &parts)
        let date = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(date.dropLast(2)):\(date.suffix(2))"
    }
}
