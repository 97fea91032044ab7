private import Glibc

extension Coordinate {
    /// The place at `fraction` of the great circle from here to `other`: 0 is here, 1 is there.
    ///
    /// It is found with unit vectors (spherical linear interpolation), so that it is exact across the antimeridian, over and
    /// at the poles. Between antipodes, which have no one way between them, it is the nearer of the two.
    public func interpolated(to other: Coordinate, fraction: Double) -> Coordinate {
        guard fraction > 0 else { return self }
        guard fraction < 1 else { return other }
        let from = UnitVector(self)
        let to = UnitVector(other)
        let angle = from.angle(to: to)
        // Closer than 0.01 mm, or opposite to within that.
        guard sin(angle) > 1e-12 else { return fraction < 0.5 ? self : other }
        let weights = (sin((1 - fraction) * angle) / sin(angle), sin(fraction * angle) / sin(angle))
        return UnitVector(
            x: weights.0 * from.x + weights.1 * to.x, y: weights.0 * from.y + weights.1 * to.y,
            z: weights.0 * from.z + weights.1 * to.z
        ).coordinate
    }
}

/// A place as the direction from the centre of the sphere.
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

    /// Accurate for small angles and large ones, unlike the arc cosine.
    func angle(to other: UnitVector) -> Double {
        let cross = UnitVector(
            x: self.y * other.z - self.z * other.y, y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x)
        let length = (cross.x * cross.x + cross.y * cross.y + cross.z * cross.z).squareRoot()
        return atan2(length, self.x * other.x + self.y * other.y + self.z * other.z)
    }

    /// The place in this direction; the length plays no part.
    var coordinate: Coordinate {
        Coordinate(
            wrappingLatitude: atan2(self.z, (self.x * self.x + self.y * self.y).squareRoot()).degrees,
            longitude: atan2(self.y, self.x).degrees)
    }
}
