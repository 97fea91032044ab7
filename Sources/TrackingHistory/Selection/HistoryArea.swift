private import SystemLibrary
public import TrackingCore

/// An area between two meridians and two parallels: a rectangle on a map. Its edges belong to it.
public struct BoundingBox: Hashable, Sendable {
    /// The south-west corner of the box on the map. When its longitude is greater than that of the north-east corner,
    /// the box crosses the antimeridian.
    public let southWest: Coordinate
    /// The north-east corner of the box on the map.
    public let northEast: Coordinate

    /// Makes a box on the map from its corners; returns `nil` when the southern edge is north of the northern edge.
    public init?(southWest: Coordinate, northEast: Coordinate) {
        guard southWest.latitude <= northEast.latitude else { return nil }
        self.southWest = southWest
        self.northEast = northEast
    }

    /// Parses `WEST,SOUTH,EAST,NORTH` in degrees, the order of GeoJSON (RFC 7946). West may be greater than east.
    ///
    /// - Throws: `TrackingError.Code.invalidConfiguration` that names the violated rule.
    public init(parsing text: String) throws(TrackingError) {
        let numbers = decimals(text)
        guard numbers.count == 4, let west = numbers[0], let south = numbers[1], let east = numbers[2],
            let north = numbers[3]
        else {
            throw TrackingError(
                .invalidConfiguration, "the box must be WEST,SOUTH,EAST,NORTH in degrees, as in -8.7,52.6,-8.5,52.7")
        }
        guard let southWest = Coordinate(latitude: south, longitude: west),
            let northEast = Coordinate(latitude: north, longitude: east)
        else {
            throw TrackingError(
                .invalidConfiguration,
                "the box must be WEST,SOUTH,EAST,NORTH: west and east -180 to 180 degrees, south and north -90 to 90")
        }
        guard let box = BoundingBox(southWest: southWest, northEast: northEast) else {
            throw TrackingError(
                .invalidConfiguration,
                "the box must be WEST,SOUTH,EAST,NORTH: its south exceeds its north")
        }
        self = box
    }

    /// `true` when the box on the map crosses the antimeridian (longitude 180°).
    public var crossesAntimeridian: Bool { self.southWest.longitude > self.northEast.longitude }

    /// Returns `true` when the box on the map contains a coordinate. The meridians 180° and -180° are the same, and a
    /// pole is on every meridian.
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
    /// Creates a box from a text `WEST,SOUTH,EAST,NORTH` in degrees, like ``BoundingBox/init(parsing:)``.
    ///
    /// - Throws: `TrackingError.Code.invalidConfiguration` that names the violated rule.
    public init(parsing text: String) throws(TrackingError) {
        let box = try BoundingBox(parsing: text)
        let (southWest, northEast) = (box.southWest, box.northEast)
        let area = GeoBox(
            south: southWest.latitude, west: southWest.longitude, north: northEast.latitude, east: northEast.longitude)
        guard let area else {
            throw TrackingError(.invalidConfiguration, "the box must be WEST,SOUTH,EAST,NORTH in degrees")
        }
        self = area
    }
}

/// A circular area, given by its centre and its radius.
public struct Surroundings: Hashable, Sendable {
    /// The centre of the circular area.
    public let center: Coordinate
    /// The radius of the circular area, above 0 m.
    public let radius: Meters

    /// Makes a circular area from its centre and its radius.
    ///
    /// - Throws: `TrackingError.Code.invalidConfiguration` unless the radius is above 0 and at most 20,100 km, half
    ///   of the Earth's circumference.
    public init(center: Coordinate, radius: Meters) throws(TrackingError) {
        guard radius.value > 0, radius.value <= 20_100_000 else {
            throw TrackingError(
                .invalidConfiguration, "the distance from a place must be above 0 m and at most 20,100,000 m")
        }
        self.center = center
        self.radius = radius
    }

    /// Parses the values of `--near LAT,LON` (degrees) and `--within METRES`.
    ///
    /// - Throws: `TrackingError.Code.invalidConfiguration` that names the violated rule.
    public init(near place: String, within metres: String) throws(TrackingError) {
        let numbers = decimals(place)
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
            let center = Coordinate(latitude: latitude, longitude: longitude)
        else {
            throw TrackingError(
                .invalidConfiguration,
                "the place must be LATITUDE,LONGITUDE in degrees (-90 to 90, -180 to 180), as in 52.63,-8.66")
        }
        guard let radius = Double(decimal: metres) else {
            throw TrackingError(
                .invalidConfiguration, "the distance must be a number of metres, not '\(metres.prefix(40))'")
        }
        try self.init(center: center, radius: Meters(radius))
    }

    /// Returns `true` when the circular area contains a coordinate.
    public func contains(_ place: Coordinate) -> Bool { place.distance(to: self.center) <= self.radius }

    /// A box that contains the whole circular area, and little more. A database with an index of coordinates is
    /// searched with this box before the exact distances are compared.
    public var boundingBox: BoundingBox {
        let angle = self.radius.value / Coordinate.meanEarthRadius.value * 180 / .pi
        // The box is enlarged by a millionth of a degree, so that rounding does not exclude its edge.
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

    /// Returns half of the circle's extent in longitude, in degrees, for a circle that contains no pole.
    ///
    /// - Parameter angle: The radius of the circle as an angle at the Earth's centre, in degrees.
    private func width(_ angle: Double) -> Double {
        let ratio = sin(angle * .pi / 180) / cos(self.center.latitude * .pi / 180)
        return asin(min(1, ratio)) * 180 / .pi + 1e-6
    }
}

/// Returns the numbers of a text that are separated by commas; `nil` for each part that is not a number.
private func decimals(_ text: String) -> [Double?] {
    text.split(separator: ",", omittingEmptySubsequences: false).map { Double(decimal: $0.filter { $0 != " " }) }
}
