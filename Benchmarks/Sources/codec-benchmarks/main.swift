// Encode and decode of one location update, ns each, against Foundation's JSON coders on the same message.
// Depends on the product TrackingCore. Both sides are measured in turn, in the same run; the table has each side's best round.

import Foundation
import TrackingCore

/// The same message as Codable structs: what one would write with Foundation.
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

func makeLocation(seq: UInt64) -> Location {
    var location = Location(
        coordinate: Coordinate(latitude: 52.629151 + Double(seq) / 1e6, longitude: -8.661746)!,  // in range
        time: UnixTime(1_550_475_950.25 + Double(seq)))
    location.altitude = 19.5
    location.accuracyHorizontal = 4.1
    location.accuracyVertical = 6
    location.bearing = 187.5
    location.accuracyBearing = 3
    location.speed = 8.2
    location.accuracySpeed = 0.4
    location.floor = 0
    location.seq = 4711 + seq
    location.stream = StreamID("k3f9q2wz")
    location.batteryLevel = 0.83
    location.mode = .balanced
    location.motion = [.driving]
    location.tripID = "5a0e7c31"
    location.source = .gps
    return location
}

/// The best of several rounds, in ns an operation.
func measure(count: Int, _ operation: () throws -> Int) rethrows -> Double {
    var best = Double.infinity
    var sink = 0
    for _ in 0..<7 {
        let start = ContinuousClock.now
        for _ in 0..<count { sink &+= try operation() }
        let elapsed = ContinuousClock.now - start
        best = min(best, Double(elapsed.components.attoseconds) / 1e9 + Double(elapsed.components.seconds) * 1e9)
    }
    precondition(sink != 0)
    return best / Double(count)
}

func column(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }

func row(_ name: String, bytes: Int, ours: Double, reference: Double) {
    let ratio = (reference / ours * 10).rounded() / 10
    print(
        name.padding(toLength: 34, withPad: " ", startingAt: 0), column("\(bytes)", 6), column("\(Int(ours))", 9),
        column("\(Int(reference))", 12), column("\(ratio) ×", 9))
}

let minimal: Location = {
    var location = Location(coordinate: makeLocation(seq: 0).coordinate, time: UnixTime(1_550_475_950.25))
    location.accuracyHorizontal = 4.1
    location.seq = 4711
    location.stream = StreamID("k3f9q2wz")
    return location
}()
let messages = [
    ("few members", LocationUpdate(location: minimal)),
    ("every member", LocationUpdate(location: makeLocation(seq: 0))),
    ("every member, 10 skipped", LocationUpdate(location: makeLocation(seq: 10), skipped: (0..<10).map(makeLocation))),
]

print("message                             bytes   ours, ns  Foundation, ns    ratio")
for (name, update) in messages {
    let bytes = try LocationCodec.encode(update)
    let data = Data(bytes)
    let count = 2_000_000 / bytes.count
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    let codable = try decoder.decode(CodableUpdate.self, from: data)

    let encoding = try measure(count: count * 10) { try LocationCodec.encode(update).count }
    let encodingReference = try measure(count: count) { try encoder.encode(codable).count }
    let decoding = try measure(count: count * 10) { try LocationCodec.decode(bytes).skipped.count + 1 }
    let decodingReference = try measure(count: count) {
        try decoder.decode(CodableUpdate.self, from: data).skippedLocations.count + 1
    }
    row("encode, \(name)", bytes: bytes.count, ours: encoding, reference: encodingReference)
    row("decode, \(name)", bytes: bytes.count, ours: decoding, reference: decodingReference)
}
