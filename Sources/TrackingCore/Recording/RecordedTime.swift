/// Judges the clock of what is recorded. It is stored whatever its time; only its rank depends on it.
public enum RecordedTime {
    /// Nothing that tracks with this system is older: 2001-01-01T00:00:00Z.
    public static let earliest = UnixTime(978_307_200)
    /// No recorder is older: 2026-01-01T00:00:00Z. One whose own clock is before that has not been told the time yet.
    static let earliestRecorder = UnixTime(1_767_225_600)

    /// Whether a record was made with a clock that was not right: before 2001, or after it came here. Such a point is never
    /// the last position. A recorder whose own clock is behind judges none for being ahead.
    ///
    /// - Parameter last: The time of the trackable's last position, which was right when it came.
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
    /// Tells points that have no `seq` apart, within one trackable and time: the place in ten-millionths of a degree (about a
    /// centimetre), never negative.
    public var placeKey: Int64 {
        let north = Int64((self.coordinate.latitude * 1e7).rounded()) + 900_000_000
        let east = Int64((self.coordinate.longitude * 1e7).rounded()) + 1_800_000_000
        return north << 32 | east
    }
}

extension Location {
    /// As it is stored: with 0 in place of -0, which not every database keeps.
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
    /// Whether this version of a trip is to be kept rather than `other`: one that has ended, else the longer one, else the one
    /// written last. So the order in which versions come does not matter.
    public func supersedes(_ other: Trip) -> Bool { self.rank > other.rank }

    private var rank: (Int, Double, UInt64, String) {
        (self.state == .ended ? 1 : 0, self.duration, self.seq, self.stream.rawValue)
    }
}
