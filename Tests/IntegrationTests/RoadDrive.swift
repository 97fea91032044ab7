import Foundation
import TestSupport
import Testing
import TrackingCore

/// Fixes along a way that the routing engine finds, one a second at 50 km/h, there and back again. Each fix is beside
/// the road by a few metres.
struct RoadDrive {
    /// The fixes, in the order of their times.
    let fixes: [Location]

    /// The distance between two fixes, in points of a way: 14 metres.
    private static let step = 7

    /// Makes a drive with a number of fixes along a way.
    ///
    /// - Parameters:
    ///   - way: The points of the way, about two metres apart.
    ///   - count: The number of fixes.
    ///   - first: The place of the first fix, as an index of `way`.
    ///   - start: The time of the first fix.
    init(along way: [Coordinate], count: Int, from first: Int = 0, since start: Double = 1_790_000_000) {
        let loop = way + way.dropLast().dropFirst().reversed()
        self.fixes = (0..<count).map { number in
            let place = (first + number * Self.step) % loop.count
            let ahead = loop[place].bearing(to: loop[(place + 1) % loop.count])
            var fix = Location(
                coordinate: loop[place].destination(bearing: ahead + 90, distance: Meters(Double(number % 4))),
                time: UnixTime(start + Double(number)))
            (fix.speed, fix.accuracyHorizontal, fix.bearing) = (14, 5, ahead)
            return fix
        }
    }

    /// Writes the drive to a file that an agent reads.
    func write(to file: URL) throws {
        let lines = self.fixes.map { fix in
            "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\","
                + "\"coordinates\":[\(fix.coordinate.longitude),\(fix.coordinate.latitude)]},"
                + "\"properties\":{\"time\":\(fix.time.seconds),\"speed\":14,\"accuracyHorizontal\":5}}"
        }
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
    }

    /// Returns the way through Vaduz and on to Schaan, with a point at least every two metres.
    static func way(_ roads: RoadsProcess) async throws -> [Coordinate] {
        let answer = try await roads.request(
            "POST", "/route",
            #"{"locations":[{"lat":47.1410,"lon":9.5209},{"lat":47.1650,"lon":9.5100}],"costing":"auto"}"#)
        let text = try #require(try JSONValue(json: answer.body)["trip"]?["legs"]?.list?.first?["shape"]?.text)
        let shape = try #require(Polyline.decode(text, limit: 10_000))
        return zip(shape, shape.dropFirst()).flatMap { start, end in
            let steps = max(1, Int((start.distance(to: end).value / 2).rounded(.up)))
            return (0..<steps).map { start.interpolated(to: end, fraction: Double($0) / Double(steps)) }
        }
    }
}
