/// The location update as Codable structs, as a program with Foundation alone would declare it.
struct CodableUpdate: Codable {
    struct Feature: Codable {
        struct Geometry: Codable {
            var type = "Point"
            var coordinates: [Double]
        }

        struct Properties: Codable {
            var time: Double
            var accuracyHorizontal: Double?
            var accuracyVertical: Double?
            var bearing: Double?
            var accuracyBearing: Double?
            var speed: Double?
            var accuracySpeed: Double?
            var floor: Int?
            var seq: UInt64?
            var stream: String?
            var batteryLevel: Double?
            var mode: String?
            var motion: [String]?
            var tripId: String?
            var source: String?
        }

        var type = "Feature"
        var geometry: Geometry
        var properties: Properties
    }

    var location: Feature
    var skippedLocations: [Feature]
    var intermediateLocations: [Feature]
    var type: String
}
