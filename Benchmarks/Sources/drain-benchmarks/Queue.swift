import BenchmarkSupport
import CReference
import Foundation
import TrackingCore
import TrackingSpool

/// Makes a point of a drive as a device writes it to its log.
func makePoint(_ seq: UInt64) -> Location {
    var location = Location(
        coordinate: Coordinate(latitude: 52 + Double(seq % 90_000) * 1e-5, longitude: -8.661746)!,  // in range
        time: UnixTime(1_790_000_000 + Double(seq)))
    location.altitude = 19.5
    location.accuracyHorizontal = 4.1
    location.accuracyVertical = 6
    location.bearing = 187.5
    location.speed = 8.2
    location.accuracySpeed = 0.4
    location.batteryLevel = 0.83
    location.motion = [.driving]
    location.source = .gps
    location.stream = stream
    location.seq = seq
    return location
}

func makeRecord(_ seq: UInt64) -> SpoolRecord {
    let point = makePoint(seq)
    return SpoolRecord(
        seq: seq, time: point.time, kind: .point, payload: LocationCodec.encodeFeature(point, inheriting: stream))
}

/// Makes a log with `count` points at a path.
func fill(_ path: String, count: Int) async throws {
    let log = SQLiteSpool(path: path, durability: .normal)
    _ = try await log.open(now: UnixTime(0))
    for first in stride(from: 1, through: count, by: 10_000) {
        try await log.append(
            (first..<(first + 10_000)).map { SpoolEntry(makeRecord(UInt64($0)), of: van, in: stream) })
    }
    try await log.close()
}

/// Returns the first `count` batches of such a log, as they are published.
func makeBatches(_ count: Int) -> [[UInt8]] {
    var random = SystemRandomNumberGenerator()
    return (0..<count).map { index in
        let first = UInt64(index * batchSize + 1)
        var batch = HistoryBatch(
            id: UUIDText.random(using: &random), stream: stream, oldest: first,
            records: SpoolRecords((first..<(first + UInt64(batchSize))).map { makeRecord($0) }))
        batch.remaining = 1_000_000 - (index + 1) * batchSize
        return HistoryCodec.encode(batch)
    }
}

/// The reference: C publishes the same batches, made before, with one in flight. Returns points a second.
func referenceDrain(count: Int, port: Int) throws -> Double {
    let batches = makeBatches(50)
    var cost = reference_cost()
    let code = Array(batches.joined()).withUnsafeBytes { payloads in
        reference_drain(
            Int32(port), TopicRoot.standard.path(.history(van)), payloads.baseAddress, batches.map(\.count),
            batches.count, count / batchSize, &cost)
    }
    guard code == 0 else { throw BenchmarkError("the reference in C failed to publish the batches") }
    return Double(count) / cost.seconds
}

/// Returns the size, in bytes, of an MQTT 5 PUBLISH packet with QoS 1 and no properties, and of its acknowledgement.
private func packetBytes(_ topic: Topic, _ payload: [UInt8]) -> Int {
    let rest = 2 + TopicRoot.standard.path(topic).utf8.count + 2 + 1 + payload.count
    let lengthBytes = rest < 128 ? 1 : rest < 16_384 ? 2 : rest < 2_097_152 ? 3 : 4
    return 1 + lengthBytes + rest + 4
}

/// Returns the bytes on the wire for a point that is published live, as an update of its own.
func liveBytes() throws -> Double {
    Double(packetBytes(.location(van), try LocationCodec.encode(LocationUpdate(location: makePoint(4711)))))
}

/// Returns the bytes on the wire for one point that is published in a full batch.
func batchBytes() -> Double { Double(packetBytes(.history(van), makeBatches(1)[0])) / Double(batchSize) }

func withFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path())
}
