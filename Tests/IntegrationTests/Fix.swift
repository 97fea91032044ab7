import Foundation
import TestSupport

/// The values by which fixes of different programs are compared.
struct Fix: Hashable, CustomStringConvertible {
    var latitude: Double
    var longitude: Double
    /// Unix time in milliseconds.
    var time: Int

    var description: String { "\(self.latitude),\(self.longitude) at \(self.time)" }

    /// Milliseconds since midnight UTC.
    var timeOfDay: Int { self.time % 86_400_000 }

    /// Returns `true` if the places differ at most by the rounding of their text form.
    func isAt(_ other: Fix) -> Bool {
        abs(self.latitude - other.latitude) < 1e-8 && abs(self.longitude - other.longitude) < 1e-8
    }

    /// Returns the `number`-th fix of an invented ride with one fix a second, which ended before now.
    static func invented(_ number: Int, start: Int) -> Fix {
        Fix(
            latitude: 52.5 + Double(number) * 0.0001, longitude: 8.25 + Double(number) * 0.00005,
            time: (start + number) * 1000)
    }

    /// A moment in the recent past, in whole seconds.
    static var recently: Int { Int(Date().timeIntervalSince1970) - 3_600 }

    /// The NMEA sentences for the fix.
    var sentences: String {
        NMEAText.fix(at: self.time / 1000, latitude: self.latitude, longitude: self.longitude)
    }

    /// The GeoJSON Feature for the fix.
    var feature: String {
        """
        {"type":"Feature","geometry":{"type":"Point","coordinates":[\(self.longitude),\(self.latitude)]},\
        "properties":{"time":\(self.time / 1000)}}
        """
    }

    /// Returns the positions of one trackable in the output of `godwit watch --format json`, in order.
    static func watched(_ output: String) throws -> [Fix] {
        try output.split(separator: "\n").filter { $0.hasPrefix("{\"event\":\"location\"") }.map { line in
            let event = try JSONDecoder().decode(WatchLine.self, from: Data(line.utf8))
            let place = event.location.geometry.coordinates
            return Fix(
                latitude: place[1], longitude: place[0],
                time: Int((event.location.properties.time * 1000).rounded()))
        }
    }

    /// Returns the fixes in gpsd's JSON: reports with a position, a time, and mode 2 or higher. Other lines are
    /// ignored.
    static func reported(_ output: String) -> [Fix] {
        output.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("{\"class\":\"TPV\"") }.compactMap { line in
            guard let report = try? JSONDecoder().decode(Report.self, from: Data(line.utf8)), report.mode ?? 0 >= 2,
                let latitude = report.lat, let longitude = report.lon, let text = report.time,
                let moment = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
            else { return nil }
            return Fix(
                latitude: latitude, longitude: longitude, time: Int((moment.timeIntervalSince1970 * 1000).rounded()))
        }
    }

    private struct WatchLine: Decodable {
        struct Feature: Decodable {
            struct Geometry: Decodable { var coordinates: [Double] }
            struct Properties: Decodable { var time: Double }
            var geometry: Geometry
            var properties: Properties
        }
        var location: Feature
    }

    private struct Report: Decodable {
        var mode: Int?
        var time: String?
        var lat: Double?
        var lon: Double?
    }
}
