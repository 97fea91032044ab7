private import SystemLibrary

extension Coordinate {
    /// Returns the coordinate at a fraction of the great circle from this coordinate to another one.
    ///
    /// The calculation interpolates unit vectors (spherical linear interpolation). It is exact across the antimeridian,
    /// over the poles and at the poles. No single great circle joins two antipodes; between them, the result is the
    /// nearer end.
    ///
    /// - Parameters:
    ///   - other: The end of the great circle.
    ///   - fraction: The fraction of the distance, 0…1: 0 is this coordinate, 1 is `other`. Values outside are limited
    ///     to 0…1.
    public func interpolated(to other: Coordinate, fraction: Double) -> Coordinate {
        guard fraction > 0 else { return self }
        guard fraction < 1 else { return other }
        let from = UnitVector(self)
        let to = UnitVector(other)
        let angle = from.angle(to: to)
        // The ends are closer than about 0.01 mm to each other or to being antipodes.
        guard sin(angle) > 1e-12 else { return fraction < 0.5 ? self : other }
        let weights = (sin((1 - fraction) * angle) / sin(angle), sin(fraction * angle) / sin(angle))
        return UnitVector(
            x: weights.0 * from.x + weights.1 * to.x, y: weights.0 * from.y + weights.1 * to.y,
            z: weights.0 * from.z + weights.1 * to.z
        ).coordinate
    }
}

/// A vector from the centre of the earth, which is taken as a sphere. A coordinate gives a vector of length 1.
private struct UnitVector {
    let x: Double
    let y: Double
    let z: Double

    init(x: Double, y: Double, z: Double) {
        self.x = x
        self.y = y
        self.z = z
    }

    init(_ place: Coordinate) {
        let latitude = place.latitude.radians
        let longitude = place.longitude.radians
        self.init(x: cos(latitude) * cos(longitude), y: cos(latitude) * sin(longitude), z: sin(latitude))
    }

    /// Returns the angle between this vector and another one in radians. Unlike the arc cosine, the formula is accurate
    /// for small and large angles.
    func angle(to other: UnitVector) -> Double {
        let cross = UnitVector(
            x: self.y * other.z - self.z * other.y, y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x)
        let length = (cross.x * cross.x + cross.y * cross.y + cross.z * cross.z).squareRoot()
        return atan2(length, self.x * other.x + self.y * other.y + self.z * other.z)
    }

    /// The coordinate in the direction of this vector from the centre of the earth. The vector may have any length
    /// above zero.
    var coordinate: Coordinate {
        Coordinate(
            wrappingLatitude: atan2(self.z, (self.x * self.x + self.y * self.y).squareRoot()).degrees,
            longitude: atan2(self.y, self.x).degrees)
    }
}
