import GodwitOptions
import SystemLibrary
import TrackingCore

/// A stop as the value of `--stop`: `LAT,LON[,NAME][,TIME]`.
struct StopArgument {
    private let location: Coordinate
    private let name: String?
    private let planned: UnixTime?

    /// Parses the value of `--stop`.
    ///
    /// - Parameters:
    ///   - text: The place in degrees, and optionally a name, which may contain commas, and a time.
    ///   - now: The present time, after which a time of day is searched.
    /// - Throws: `invalidConfiguration` that names the violated rule.
    init(_ text: String, now: UnixTime) throws(TrackingError) {
        var parts = text.split(separator: ",", omittingEmptySubsequences: false).map(Self.trimmed)
        guard parts.count >= 2, let location = Coordinate(argument: parts[0] + "," + parts[1]) else {
            throw TrackingError(
                .invalidConfiguration,
                "--stop must begin with LAT,LON in degrees, unlike '\(text.printable.prefix(80))', for example 47.166,9.51,Depot,14:30"
            )
        }
        parts.removeFirst(2)
        let planned = parts.last.flatMap { Self.time($0, now: now) }
        if planned != nil { parts.removeLast() }
        if let last = parts.last, Self.resemblesTime(last) {
            throw TrackingError(
                .invalidConfiguration,
                "--stop: '\(last.printable)' is no time. Give HH:MM from 00:00 to 23:59, or RFC 3339 with a time zone (2026-05-04T09:30:00Z)"
            )
        }
        let name = parts.joined(separator: ",")
        self.location = location
        self.name = name.isEmpty ? nil : name
        self.planned = planned
    }

    /// Returns the stop with an id and a radius.
    func stop(id: String, radius: Meters) -> Journey.Stop {
        Journey.Stop(id: id, name: self.name, location: self.location, radius: radius, planned: self.planned)
    }

    private static func trimmed(_ part: Substring) -> String {
        let rest = part.drop { $0 == " " }
        return String(rest.prefix(rest.count - rest.reversed().prefix { $0 == " " }.count))
    }

    private static func resemblesTime(_ text: String) -> Bool {
        text.wholeMatch(of: #/\d{1,2}[:.]\d{1,2}([:.]\d{1,2})?|\d{4}-\d\d-\d\d.*/#) != nil
    }

    private static func time(_ text: String, now: UnixTime) -> UnixTime? {
        if let match = text.wholeMatch(of: #/(\d\d?):(\d\d)/#), let hour = Int32(match.1), let minute = Int32(match.2),
            hour < 24, minute < 60
        {
            return self.next(hour: hour, minute: minute, after: now)
        }
        return ISO8601.parse(Array(text.utf8))
    }

    /// Returns the first time after `now` at which this device's clock shows the given time of day.
    private static func next(hour: Int32, minute: Int32, after now: UnixTime) -> UnixTime? {
        var seconds = time_t(now.seconds.rounded(.down))
        var today = tm()
        guard localtime_r(&seconds, &today) != nil else { return nil }
        for day in 0...1 {
            var parts = tm()
            (parts.tm_year, parts.tm_mon, parts.tm_mday) = (today.tm_year, today.tm_mon, today.tm_mday + Int32(day))
            (parts.tm_hour, parts.tm_min, parts.tm_isdst) = (hour, minute, -1)
            let time = UnixTime(Double(mktime(&parts)))
            if time > now { return time }
        }
        return nil
    }
}
