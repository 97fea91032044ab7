import Foundation

/// Writes NMEA 0183 sentences as receivers do.
public enum NMEAText {
    /// Returns an NMEA sentence around `body`, with its checksum and line end.
    public static func sentence(_ body: String) -> String {
        let digits = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
        return "$\(body)*\(digits.count == 1 ? "0" : "")\(digits)\r\n"
    }

    /// Returns the sentences (RMC and GGA) of one fix at a Unix time in whole seconds, at the speed of a cyclist.
    ///
    /// - Parameters:
    ///   - latitude: The latitude in degrees north, 0…90.
    ///   - longitude: The longitude in degrees east, 0…180.
    public static func fix(at time: Int, latitude: Double, longitude: Double) -> String {
        var seconds = time_t(time)
        var civil = tm()
        gmtime_r(&seconds, &civil)
        let clock = self.pad(civil.tm_hour) + self.pad(civil.tm_min) + self.pad(civil.tm_sec) + ".00"
        let date = self.pad(civil.tm_mday) + self.pad(civil.tm_mon + 1) + self.pad(civil.tm_year % 100)
        let place = "\(self.angle(latitude, width: 2)),N,\(self.angle(longitude, width: 3)),E"
        return self.sentence("GPRMC,\(clock),A,\(place),10.0,45.0,\(date),,,A")
            + self.sentence("GPGGA,\(clock),\(place),1,09,0.9,20.0,M,57.0,M,,")
    }

    private static func pad(_ number: Int32) -> String { self.pad("\(number)", 2) }

    private static func pad(_ text: String, _ width: Int) -> String {
        String(repeating: "0", count: max(0, width - text.count)) + text
    }

    /// Returns an angle as NMEA writes it: degrees, then minutes with six decimals.
    private static func angle(_ degrees: Double, width: Int) -> String {
        let micro = Int((degrees * 60_000_000).rounded())
        let minutes = micro % 60_000_000
        return self.pad("\(micro / 60_000_000)", width) + self.pad("\(minutes / 1_000_000)", 2) + "."
            + self.pad("\(minutes % 1_000_000)", 6)
    }
}
