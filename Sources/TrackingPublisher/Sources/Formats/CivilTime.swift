import TrackingCore

/// Turns dates and times of day into Unix time, without a calendar library: proleptic Gregorian, UTC.
enum CivilTime {
    /// The seconds of a day; leap seconds have no number in Unix time.
    static let secondsPerDay = 86_400.0

    /// The years that dates are read in. Later ones are no fix's, and from 5138 on a date could not be sent.
    private static let years = 1...5000

    /// The days from 1970-01-01 to this date; `nil` where there is no such date, or not within the years 1 to 5000.
    static func days(year: Int, month: Int, day: Int) -> Int? {
        guard Self.years.contains(year), (1...12).contains(month),
            (1...Self.length(ofMonth: month, year: year)).contains(day)
        else { return nil }
        // Years counted from March put the leap day last, so that every month starts at a fixed day of its year.
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The moment with this time of day (seconds, 0 ..< 86,401) that is nearest to `reference`.
    static func moment(secondsOfDay: Double, nearest reference: UnixTime) -> UnixTime {
        let midnight = (reference.seconds / Self.secondsPerDay).rounded(.down) * Self.secondsPerDay
        let sameDay = midnight + secondsOfDay
        let offset = reference.seconds - sameDay
        if offset > Self.secondsPerDay / 2 { return UnixTime(sameDay + Self.secondsPerDay) }
        if offset < -Self.secondsPerDay / 2 { return UnixTime(sameDay - Self.secondsPerDay) }
        return UnixTime(sameDay)
    }

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }
}
