private import Glibc

/// A rectangle in latitude and longitude, its edges included. One that crosses the antimeridian has `west` > `east`.
public struct GeoBox: Hashable, Sendable {
    /// The southern edge, -90…`north`.
    public let south: Double
    /// The western edge, -180…180.
    public let west: Double
    /// The northern edge, `south`…90.
    public let north: Double
    /// The eastern edge, -180…180.
    public let east: Double

    /// Makes a box; `nil` when a number is not finite or out of range, or `south` is above `north`.
    public init?(south: Double, west: Double, north: Double, east: Double) {
        guard Coordinate(latitude: south, longitude: west) != nil,
            Coordinate(latitude: north, longitude: east) != nil, south <= north
        else { return nil }
        self.south = south
        self.west = west
        self.north = north
        self.east = east
    }

    /// Whether the box holds a place.
    public func contains(_ place: Coordinate) -> Bool {
        (self.south...self.north).contains(place.latitude)
            && (self.west <= self.east
                ? (self.west...self.east).contains(place.longitude)
                : place.longitude >= self.west || place.longitude <= self.east)
    }

    /// The same area as boxes that do not cross the antimeridian: one, or two.
    public var parts: [GeoBox] {
        guard self.west > self.east else { return [self] }
        return [
            GeoBox(south: self.south, west: self.west, north: self.north, east: 180),
            GeoBox(south: self.south, west: -180, north: self.north, east: self.east),
        ].compactMap { $0 }
    }

    /// The smallest box that holds the circle of `radius` around `center`: all longitudes where it reaches a pole.
    public init(around center: Coordinate, radius: Meters) {
        let degrees = (max(0, radius.value) / Coordinate.meanEarthRadius.value).degrees
        let south = center.latitude - degrees
        let north = center.latitude + degrees
        self.south = max(-90, south)
        self.north = min(90, north)
        guard south > -90, north < 90 else {
            self.west = -180
            self.east = 180
            return
        }
        // The circle is widest where it touches its meridian, which is poleward of its centre.
        let widest = asin(min(1, sin(degrees.radians) / cos(center.latitude.radians))).degrees
        guard widest < 180 else {
            self.west = -180
            self.east = 180
            return
        }
        self.west = center.longitude - widest < -180 ? center.longitude - widest + 360 : center.longitude - widest
        self.east = center.longitude + widest > 180 ? center.longitude + widest - 360 : center.longitude + widest
    }
}
