private import SystemLibrary

/// A position on the WGS 84 ellipsoid: latitude and longitude in degrees.
public struct Coordinate: Hashable, Sendable {
    /// The latitude in degrees north of the equator, -90…90.
    public let latitude: Double
    /// The longitude in degrees east of Greenwich, -180…180.
    public let longitude: Double

    /// The mean radius of WGS 84, (2a + b) / 3, in metres. Godwit calculates distances on a sphere with this radius.
    public static let meanEarthRadius: Meters = 6_371_008.8

    /// Makes a coordinate from a latitude and a longitude in degrees; returns `nil` when one of them is not finite or
    /// out of range.
    public init?(latitude: Double, longitude: Double) {
        // The comparisons are false for NaN and infinities.
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Returns the great-circle distance to another coordinate, by the haversine formula. The formula is exact across
    /// the antimeridian and at the poles.
    public func distance(to other: Coordinate) -> Meters {
        let fromLatitude = self.latitude.radians
        let toLatitude = other.latitude.radians
        let sinLatitude = sin((toLatitude - fromLatitude) / 2)
        let sinLongitude = sin((other.longitude - self.longitude).radians / 2)
        let h = sinLatitude * sinLatitude + cos(fromLatitude) * cos(toLatitude) * sinLongitude * sinLongitude
        return Meters(2 * Self.meanEarthRadius.value * asin(min(1, h.squareRoot())))
    }

    /// Returns the direction in which the great circle to another coordinate begins, in degrees from true north, 0 ≤ b
    /// < 360.
    public func bearing(to other: Coordinate) -> Double {
        let fromLatitude = self.latitude.radians
        let toLatitude = other.latitude.radians
        let longitudes = (other.longitude - self.longitude).radians
        let y = sin(longitudes) * cos(toLatitude)
        let x = cos(fromLatitude) * sin(toLatitude) - sin(fromLatitude) * cos(toLatitude) * cos(longitudes)
        return atan2(y, x).degrees.normalizedBearing
    }

    /// Returns the coordinate that is reached from this one along a great circle.
    ///
    /// - Parameters:
    ///   - bearing: The direction at the start, in degrees from true north.
    ///   - distance: The distance from this coordinate, in metres.
    public func destination(bearing: Double, distance: Meters) -> Coordinate {
        let angle = distance.value / Self.meanEarthRadius.value
        let fromLatitude = self.latitude.radians
        let direction = bearing.radians
        let sine = sin(fromLatitude) * cos(angle) + cos(fromLatitude) * sin(angle) * cos(direction)
        let toLatitude = asin(max(-1, min(1, sine)))
        let change = atan2(
            sin(direction) * sin(angle) * cos(fromLatitude), cos(angle) - sin(fromLatitude) * sin(toLatitude))
        return Coordinate(
            wrappingLatitude: toLatitude.degrees, longitude: self.longitude + change.degrees)
    }

    /// Makes a coordinate from calculated numbers, which must be finite. The latitude is limited to -90…90, and the
    /// longitude is wrapped into -180…180.
    init(wrappingLatitude latitude: Double, longitude: Double) {
        self.latitude = max(-90, min(90, latitude))
        var wrapped = longitude.truncatingRemainder(dividingBy: 360)
        if wrapped > 180 { wrapped -= 360 }
        if wrapped < -180 { wrapped += 360 }
        self.longitude = wrapped
    }
}

extension Double {
    var radians: Double { self * .pi / 180 }
    var degrees: Double { self * 180 / .pi }

    /// This number, an angle in degrees, wrapped into 0 ≤ b < 360, the range of a bearing.
    public var normalizedBearing: Double {
        let remainder = self.truncatingRemainder(dividingBy: 360)
        let positive = remainder < 0 ? remainder + 360 : remainder
        return positive >= 360 ? 0 : positive
    }
}
