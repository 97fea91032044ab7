import TrackingCore

/// Makes fixes of the positions that GeoClue reports.
enum GeoCluePosition {
    /// Returns the fix for the properties of an object `org.freedesktop.GeoClue2.Location`.
    ///
    /// GeoClue marks an unknown speed and heading by -1. The altitude is left out, because GeoClue does not state to
    /// which level it refers.
    ///
    /// - Parameters:
    ///   - properties: The names and values of the properties, as a dictionary.
    ///   - clock: The time of the device's clock, for a position without a time.
    /// - Throws: `invalidPayload` if the position has no valid latitude and longitude.
    static func fix(_ properties: DBusValue, clock: UnixTime) throws(TrackingError) -> Location {
        guard let latitude = properties["Latitude"]?.double, let longitude = properties["Longitude"]?.double,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else {
            throw TrackingError(
                .invalidPayload, "cannot read a position of GeoClue: its latitude or longitude is missing or invalid")
        }
        var fix = Location(coordinate: coordinate, time: Self.time(properties["Timestamp"]) ?? clock)
        fix.accuracyHorizontal = Self.measured(properties["Accuracy"], below: 41_000_000)
        fix.speed = Self.measured(properties["Speed"], below: 10_000)
        if let speed = fix.speed, speed > 0 { fix.bearing = Self.measured(properties["Heading"], below: 360) }
        fix.source = .network
        return fix
    }

    /// Returns a number from 0 up to, but not including, `limit`; `nil` for any other value.
    private static func measured(_ value: DBusValue?, below limit: Double) -> Double? {
        guard let number = value?.double, number >= 0, number < limit else { return nil }
        return number
    }

    /// Returns the time that GeoClue gives as whole seconds and microseconds; `nil` if it gives none.
    private static func time(_ value: DBusValue?) -> UnixTime? {
        let parts = (value?.members ?? []).compactMap(\.unsigned)
        guard parts.count == 2, parts[0] > 0, parts[1] < 1_000_000 else { return nil }
        let time = UnixTime(Double(parts[0]) + Double(parts[1]) / 1_000_000)
        return WireLimits.allows(time) ? time : nil
    }
}
