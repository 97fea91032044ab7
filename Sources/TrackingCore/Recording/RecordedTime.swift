/// Judges whether the time of a record comes from a wrong clock. A record is stored whatever its time; a clock fault
/// only prevents its point from becoming the trackable's last position.
public enum RecordedTime {
    /// The earliest plausible time of a record: 2001-01-01T00:00:00Z.
    public static let earliest = UnixTime(978_307_200)
    /// The earliest plausible time of a recorder: 2026-01-01T00:00:00Z. A recorder with an earlier clock has not set it
    /// yet.
    static let earliestRecorder = UnixTime(1_767_225_600)

    /// Returns `true` when the time of a record comes from a wrong clock: it is before 2001, or more than 60 s after
    /// the record's arrival. A point with such a time never becomes the last position. A recorder with an unset clock
    /// does not judge times in the future.
    ///
    /// - Parameters:
    ///   - time: The time of the record.
    ///   - receivedAt: The arrival of the record, by the recorder's clock.
    ///   - last: The time of the trackable's last position, which was plausible on arrival. If it is ahead of
    ///     `receivedAt`, the recorder's clock was set back and judges no times in the future.
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
    /// A key that distinguishes points without `seq` of one trackable and one time: the position in ten-millionths of a
    /// degree (about a centimetre), never negative.
    public var placeKey: Int64 {
        let north = Int64((self.coordinate.latitude * 1e7).rounded()) + 900_000_000
        let east = Int64((self.coordinate.longitude * 1e7).rounded()) + 1_800_000_000
        return north << 32 | east
    }
}

extension Location {
    /// The point for storage, with 0 instead of -0, which some databases do not preserve.
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
    /// Returns `true` when this version of a trip replaces `other`: an ended version wins, then the longer duration,
    /// then the higher `seq`. So the order of arrival does not matter.
    public func supersedes(_ other: Trip) -> Bool { self.rank > other.rank }

    private var rank: (Int, Double, UInt64, String) {
        (self.state == .ended ? 1 : 0, self.duration, self.seq, self.stream.rawValue)
    }
}
