private import Glibc

/// A place on the WGS 84 ellipsoid, in degrees.
public struct Coordinate: Hashable, Sendable {
    /// Degrees north of the equator, -90…90.
    public let latitude: Double
    /// Degrees east of Greenwich, -180…180.
    public let longitude: Double

    /// The mean radius of WGS 84 in metres (2a + b) / 3, which every distance here uses.
    public static let meanEarthRadius: Meters = 6_371_008.8

    /// Makes a coordinate; `nil` when a number is not finite or out of range.
    public init?(latitude: Double, longitude: Double) {
        // The comparisons are false for NaN and infinities.
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The great-circle distance, by the haversine formula: exact across the antimeridian and at the poles.
    public func distance(to other: Coordinate) -> Meters {
        let fromLatitude = self.latitude.radians
        let toLatitude = other.latitude.radians
        let sinLatitude = sin((toLatitude - fromLatitude) / 2)
        let sinLongitude = sin((other.longitude - self.longitude).radians / 2)
        let h = sinLatitude * sinLatitude + cos(fromLatitude) * cos(toLatitude) * sinLongitude * sinLongitude
        return Meters(2 * Self.meanEarthRadius.value * asin(min(1, h.squareRoot())))
    }

    /// The initial bearing of the great circle to `other`, degrees from true north, 0 ≤ b < 360.
    public func bearing(to other: Coordinate) -> Double {
        let fromLatitude = self.latitude.radians
        let toLatitude = other.latitude.radians
        let longitudes = (other.longitude - self.longitude).radians
        let y = sin(longitudes) * cos(toLatitude)
        let x = cos(fromLatitude) * sin(toLatitude) - sin(fromLatitude) * cos(toLatitude) * cos(longitudes)
        return atan2(y, x).degrees.normalizedBearing
    }

    /// The place `distance` away along the great circle that leaves in the direction `bearing` (degrees).
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

    /// Brings a longitude back into -180…180 and a latitude into -90…90; for results of arithmetic, which are finite.
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

    /// This angle in degrees brought into 0 ≤ b < 360.
    public var normalizedBearing: Double {
        let remainder = self.truncatingRemainder(dividingBy: 360)
        let positive = remainder < 0 ? remainder + 360 : remainder
        return positive >= 360 ? 0 : positive
    }
}
