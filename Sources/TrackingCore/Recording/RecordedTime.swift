/// Judges if the time of a record comes from a wrong clock. Such a record is stored nevertheless, but its point never
/// becomes the trackable's last position.
public enum RecordedTime {
    /// The earliest plausible time of a record: 2001-01-01T00:00:00Z.
    public static let earliest = UnixTime(978_307_200)
    /// The earliest plausible time of the clock of a recorder, a program that stores records: 2026-01-01T00:00:00Z. A
    /// clock that shows an earlier time is not set yet.
    static let earliestRecorder = UnixTime(1_767_225_600)

    /// Returns `true` when the time of a record comes from a wrong clock: it is before 2001, or more than 60 s after
    /// the record's arrival. The second check is left out when the recorder's own clock is wrong: it shows a year
    /// before 2026, or was set back.
    ///
    /// - Parameters:
    ///   - time: The time of the record.
    ///   - receivedAt: The arrival of the record, by the recorder's clock.
    ///   - last: The time of the trackable's last position. If it is more than 60 s after `receivedAt`, the recorder's
    ///     clock was set back.
    public static func isFault(_ time: UnixTime, receivedAt: UnixTime, last: UnixTime? = nil) -> Bool {
        if time < self.earliest { return true }
        if receivedAt < self.earliestRecorder { return false }
        if let last, self.isAhead(last, of: receivedAt) { return false }
        return self.isAhead(time, of: receivedAt)
    }

    private static func isAhead(_ time: UnixTime, of receivedAt: UnixTime) -> Bool {
        time.since(receivedAt) > LivePosition.maximumAhead
    }
}

extension Location {
    /// A key that distinguishes points of one trackable with the same time, for points without a record number. It
    /// consists of latitude and longitude in ten-millionths of a degree (about a centimetre), and is never negative.
    public var placeKey: Int64 {
        let north = Int64((self.coordinate.latitude * 1e7).rounded()) + 900_000_000
        let east = Int64((self.coordinate.longitude * 1e7).rounded()) + 1_800_000_000
        return north << 32 | east
    }
}

extension Location {
    /// The point with each number -0 replaced by 0, because some databases do not preserve -0.
    var withoutNegativeZeros: Location {
        var point = self
        point.time = UnixTime(self.time.seconds + 0)
        let place = self.coordinate
        point.coordinate = Coordinate(latitude: place.latitude + 0, longitude: place.longitude + 0) ?? place
        point.altitude = self.altitude.map { $0 + 0 }
        point.accuracyHorizontal = self.accuracyHorizontal.map { $0 + 0 }
        point.accuracyVertical = self.accuracyVertical.map { $0 + 0 }
        point.bearing = self.bearing.map { $0 + 0 }
        point.accuracyBearing = self.accuracyBearing.map { $0 + 0 }
        point.speed = self.speed.map { $0 + 0 }
        point.accuracySpeed = self.accuracySpeed.map { $0 + 0 }
        point.batteryLevel = self.batteryLevel.map { $0 + 0 }
        return point
    }
}

extension Trip {
    /// Returns `true` when this version of a trip must replace the version `other`. An ended version wins over one in
    /// progress, then the longer duration wins, then the higher record number, then the greater stream id. So the order
    /// of arrival does not matter.
    public func supersedes(_ other: Trip) -> Bool { self.rank > other.rank }

    private var rank: (Int, Double, UInt64, String) {
        (self.state == .ended ? 1 : 0, self.duration, self.seq, self.stream.rawValue)
    }
}
