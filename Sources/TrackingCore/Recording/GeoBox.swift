private import SystemLibrary

/// A rectangle in latitude and longitude; its edges belong to it. A box across the antimeridian (180°) has a `west`
/// greater than its `east`.
public struct GeoBox: Hashable, Sendable {
    /// The latitude of the box's southern edge in degrees, -90…`north`.
    public let south: Double
    /// The longitude of the box's western edge in degrees, -180…180.
    public let west: Double
    /// The latitude of the box's northern edge in degrees, `south`…90.
    public let north: Double
    /// The longitude of the box's eastern edge in degrees, -180…180.
    public let east: Double

    /// Makes a box from its four edges, in degrees. Returns `nil` when a number is not finite or out of range, or
    /// `south` is above `north`.
    public init?(south: Double, west: Double, north: Double, east: Double) {
        guard Coordinate(latitude: south, longitude: west) != nil,
            Coordinate(latitude: north, longitude: east) != nil, south <= north
        else { return nil }
        self.south = south
        self.west = west
        self.north = north
        self.east = east
    }

    /// Returns `true` when the box contains a coordinate. The meridians 180° and -180° are the same.
    public func contains(_ place: Coordinate) -> Bool {
        (self.south...self.north).contains(place.latitude)
            && (self.spans(place.longitude) || place.longitude.magnitude == 180 && self.spans(-place.longitude))
    }

    private func spans(_ longitude: Double) -> Bool {
        self.west <= self.east
            ? (self.west...self.east).contains(longitude) : longitude >= self.west || longitude <= self.east
    }

    /// The area of this box as one or two boxes that do not cross the antimeridian. If the box only touches the
    /// antimeridian, the second box is the meridian itself with the other sign (180° or -180°).
    public var parts: [GeoBox] {
        if self.west > self.east { return [self.from(self.west, to: 180), self.from(-180, to: self.east)] }
        if self.east == 180, self.west > -180 { return [self, self.from(-180, to: -180)] }
        if self.west == -180, self.east < 180 { return [self, self.from(180, to: 180)] }
        return [self]
    }

    private func from(_ west: Double, to east: Double) -> GeoBox {
        GeoBox(south: self.south, north: self.north, west: west, east: east)
    }

    private init(south: Double, north: Double, west: Double, east: Double) {
        (self.south, self.west, self.north, self.east) = (south, west, north, east)
    }

    /// Makes the smallest box that contains a circle. When the circle contains a pole, the box spans all longitudes.
    ///
    /// - Parameters:
    ///   - center: The centre of the circle.
    ///   - radius: The radius; a negative one counts as 0 m.
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
        // The circle's greatest width is on the poleward side of its centre, where a meridian touches it.
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
