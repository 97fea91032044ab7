// The time to encode and to decode one location update, in nanoseconds, compared with Foundation's JSON coders on the
// same message. Both are measured in turn, in rounds; the table has the median of each.

import BenchmarkSupport
import Foundation
import TrackingCore

let rounds = 15

/// Returns the nanoseconds that one operation takes, over `count` operations.
func nanoseconds(_ count: Int, _ operation: () throws -> Int) rethrows -> Double {
    let start = secondsNow()
    var sum = 0
    for _ in 0..<count { sum &+= try operation() }
    let end = secondsNow()
    precondition(sum != 0)
    return (end - start) * 1e9 / Double(count)
}

/// Measures two operations in turn, and returns the median of each in nanoseconds.
func compare(
    count: Int, reference: () throws -> Int, measured: () throws -> Int
) async rethrows -> (reference: Double, measured: Double) {
    let times = try await alternate(
        rounds: rounds, { try nanoseconds(count, reference) }, { try nanoseconds(count * 10, measured) })
    return (times.reference.median, times.measured.median)
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

var report = Report()
for (name, update) in messages {
    let bytes = try LocationCodec.encode(update)
    let data = Data(bytes)
    let count = 400_000 / bytes.count
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    let codable = try decoder.decode(CodableUpdate.self, from: data)
    let encoding = try await compare(
        count: count, reference: { try encoder.encode(codable).count },
        measured: { try LocationCodec.encode(update).count })
    let decoding = try await compare(
        count: count,
        reference: { try decoder.decode(CodableUpdate.self, from: data).skippedLocations.count + 1 },
        measured: { try LocationCodec.decode(bytes).skipped.count + 1 })
    for (what, cost) in [("encode", encoding), ("decode", decoding)] {
        report.compare(
            "location update (\(name), \(bytes.count) bytes): \(what)", reference: cost.reference,
            measured: cost.measured, "ns", ratio: cost.reference / cost.measured, .atLeast(20))
    }
}
if !report.isMet { exit(1) }
