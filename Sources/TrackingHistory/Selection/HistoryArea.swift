private import Glibc
public import TrackingCore

/// The part of the world between two meridians and two parallels, its edges included.
public struct BoundingBox: Hashable, Sendable {
    /// The corner in the south-west. Where it lies east of the other one, the box crosses the antimeridian.
    public let southWest: Coordinate
    /// The corner in the north-east.
    public let northEast: Coordinate

    /// Makes a box; `nil` when the south is north of the north.
    public init?(southWest: Coordinate, northEast: Coordinate) {
        guard southWest.latitude <= northEast.latitude else { return nil }
        self.southWest = southWest
        self.northEast = northEast
    }

    /// Reads `WEST,SOUTH,EAST,NORTH` in degrees, the order of GeoJSON (RFC 7946). West may be greater than east.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong.
    public init(parsing text: String) throws(TrackingError) {
        let numbers = decimals(text)
        guard numbers.count == 4, let west = numbers[0], let south = numbers[1], let east = numbers[2],
            let north = numbers[3]
        else {
            throw TrackingError(
                .invalidConfiguration, "a box is WEST,SOUTH,EAST,NORTH in degrees, as in -8.7,52.6,-8.5,52.7")
        }
        guard let southWest = Coordinate(latitude: south, longitude: west),
            let northEast = Coordinate(latitude: north, longitude: east)
        else {
            throw TrackingError(
                .invalidConfiguration,
                "a box is WEST,SOUTH,EAST,NORTH: west and east are -180 to 180 degrees, south and north -90 to 90")
        }
        guard let box = BoundingBox(southWest: southWest, northEast: northEast) else {
            throw TrackingError(
                .invalidConfiguration,
                "a box is WEST,SOUTH,EAST,NORTH: the south must not be north of the north")
        }
        self = box
    }

    /// Whether it crosses the antimeridian.
    public var crossesAntimeridian: Bool { self.southWest.longitude > self.northEast.longitude }

    /// Whether a place is in it. A meridian of 180° is that of -180°, and at a pole every meridian is.
    public func contains(_ place: Coordinate) -> Bool {
        guard (self.southWest.latitude...self.northEast.latitude).contains(place.latitude) else { return false }
        if place.latitude.magnitude == 90 || self.spans(place.longitude) { return true }
        return place.longitude.magnitude == 180 && self.spans(-place.longitude)
    }

    private func spans(_ longitude: Double) -> Bool {
        let (west, east) = (self.southWest.longitude, self.northEast.longitude)
        return self.crossesAntimeridian ? longitude >= west || longitude <= east : (west...east).contains(longitude)
    }
}

extension GeoBox {
    /// Reads `WEST,SOUTH,EAST,NORTH` in degrees, as ``BoundingBox/init(parsing:)`` does.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong.
    public init(parsing text: String) throws(TrackingError) {
        let box = try BoundingBox(parsing: text)
        let (southWest, northEast) = (box.southWest, box.northEast)
        let area = GeoBox(
            south: southWest.latitude, west: southWest.longitude, north: northEast.latitude, east: northEast.longitude)
        guard let area else {
            throw TrackingError(.invalidConfiguration, "a box is WEST,SOUTH,EAST,NORTH in degrees")
        }
        self = area
    }
}

/// What lies within a distance of a place.
public struct Surroundings: Hashable, Sendable {
    /// The place.
    public let center: Coordinate
    /// The greatest distance from it, > 0 m.
    public let radius: Meters

    /// Makes the surroundings of a place.
    ///
    /// - Throws: `invalidConfiguration` when the radius is not above 0 and at most 20,100 km, half of the way around.
    public init(center: Coordinate, radius: Meters) throws(TrackingError) {
        guard radius.value > 0, radius.value <= 20_100_000 else {
            throw TrackingError(.invalidConfiguration, "a distance from a place is above 0 m and at most 20,100,000 m")
        }
        self.center = center
        self.radius = radius
    }

    /// Reads the values of `--near LAT,LON` (degrees) and `--within METRES`.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong.
    public init(near place: String, within metres: String) throws(TrackingError) {
        let numbers = decimals(place)
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
            let center = Coordinate(latitude: latitude, longitude: longitude)
        else {
            throw TrackingError(
                .invalidConfiguration,
                "a place is LATITUDE,LONGITUDE in degrees (-90 to 90, -180 to 180), as in 52.63,-8.66")
        }
        guard let radius = Double(decimal: metres) else {
            throw TrackingError(.invalidConfiguration, "a distance is a number of metres, not '\(metres.prefix(40))'")
        }
        try self.init(center: center, radius: Meters(radius))
    }

    /// Whether a place is in them.
    public func contains(_ place: Coordinate) -> Bool { place.distance(to: self.center) <= self.radius }

    /// A box that holds all of them, for an index to search first.
    public var boundingBox: BoundingBox {
        let angle = self.radius.value / Coordinate.meanEarthRadius.value * 180 / .pi
        // Outward by a millionth of a degree, so that no rounding cuts off what lies on the edge.
        let south = max(-90, self.center.latitude - angle - 1e-6)
        let north = min(90, self.center.latitude + angle + 1e-6)
        let width = self.width(angle)
        var (west, east) = (self.center.longitude - width, self.center.longitude + width)
        if width >= 180 || south == -90 || north == 90 { (west, east) = (-180, 180) }
        if west < -180 { west += 360 }
        if east > 180 { east -= 360 }
        guard let southWest = Coordinate(latitude: south, longitude: west),
            let northEast = Coordinate(latitude: north, longitude: east),
            let box = BoundingBox(southWest: southWest, northEast: northEast)
        else { preconditionFailure("all four were brought into their ranges above") }
        return box
    }

    /// How far in longitude a circle of this angle reaches that touches no pole, in degrees.
    private func width(_ angle: Double) -> Double {
        let ratio = sin(angle * .pi / 180) / cos(self.center.latitude * .pi / 180)
        return asin(min(1, ratio)) * 180 / .pi + 1e-6
    }
}

/// The numbers between commas; `nil` for what is none.
private func decimals(_ text: String) -> [Double?] {
    text.split(separator: ",", omittingEmptySubsequences: false).map { Double(decimal: $0.filter { $0 != " " }) }
}
