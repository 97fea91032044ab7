@testable import TrackingCore

extension Location {
    /// The start of the tests' road, which leads north.
    static let origin = Coordinate(latitude: 52.6, longitude: -8.6)!  // in range

    /// A fix `north` metres up the road, `seconds` after the tests' epoch.
    static func fix(north: Double = 0, at seconds: Double) -> Location {
        Location(
            coordinate: Location.origin.destination(bearing: 0, distance: Meters(north)),
            time: UnixTime(1_700_000_000 + seconds))
    }
}
