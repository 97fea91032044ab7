/// Conversions between dates and Unix time in the proleptic Gregorian calendar and UTC, without a calendar library.
package enum CivilTime {
    /// The number of seconds of a day, without leap seconds, which Unix time does not count.
    package static let secondsPerDay = 86_400.0

    /// The years that a date may have: 1 to 5138, the year of the latest time that Godwit's messages can contain.
    private static let years = 1...5138

    /// Returns the number of days from 1970-01-01 to a date; `nil` when the date does not exist or is not in the years
    /// 1 to 5138.
    package static func days(year: Int, month: Int, day: Int) -> Int? {
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

    /// Returns the date (year, month, day) that is this number of days after 1970-01-01. The number may be negative,
    /// and the year may be 0 or negative.
    package static func date(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }

    /// Returns the time with the given time of day that is nearest to `reference`. It is on the same day, the day
    /// before or the day after.
    ///
    /// - Parameters:
    ///   - secondsOfDay: The time of day in seconds since midnight UTC, 0 ..< 86,401.
    ///   - reference: The approximate time.
    package static func moment(secondsOfDay: Double, nearest reference: UnixTime) -> UnixTime {
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
