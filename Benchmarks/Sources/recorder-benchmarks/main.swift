// The recorder: the number of points that become durable a second, through a real broker, in SQLite and PostgreSQL.
// Broker and load run on the same machine.
//
// Run `recorder-benchmarks PROGRAM`, where PROGRAM is a release build of `godwit`, whose memory is measured.
// `recorder-benchmarks memory` measures only the rate at which PostgreSQL stores messages that are in memory already,
// which each row with the broker also has as its reference. `recorder-benchmarks growth` measures the time for a point
// in PostgreSQL up to 10,000,000 points (about 4 GB, some minutes).

import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT
import TrackingRecorder
import TrackingStore

guard CommandLine.arguments.count == 2 else {
    print("usage: recorder-benchmarks PROGRAM | memory | growth")
    exit(64)
}
let trackables = 2_000
let livePoints = 200_000
let batchedPoints = 600_000
let perBatch = 200
let connections = 8

let broker = try Broker(window: 1000)
let start = UnixTime(1_790_000_000)

/// Makes messages with one point each, of all trackables in turn.
func liveMessages() throws -> [OutgoingMessage] {
    try (0..<livePoints).map { index in
        let (id, seq) = (try TrackableID("van-\(index % trackables)"), UInt64(index / trackables + 1))
        var update = LocationUpdate(location: try point(seq, of: id))
        update.location.stream = StreamID("s\(id)".filter { $0 != "-" })
        return OutgoingMessage(
            topic: TopicRoot.standard.path(.location(id)), payload: try LocationCodec.encode(update), isRetained: true)
    }
}

/// Makes `count` batches of `perBatch` points, of all trackables in turn.
func batchMessages(_ count: Int, of perBatch: Int) throws -> [OutgoingMessage] {
    try (0..<count).map { index in
        let id = try TrackableID("van-\(index % trackables)")
        let stream = StreamID("s\(id)".filter { $0 != "-" })!
        let first = UInt64(index / trackables * perBatch + 1)
        let records = try (first..<(first + UInt64(perBatch))).map { seq in
            SpoolRecord(
                seq: seq, time: start, kind: .point, tripID: nil,
                payload: LocationCodec.encodeFeature(try point(seq, of: id), inheriting: stream))
        }
        let batch = HistoryBatch(
            id: "b\(index)", stream: stream, oldest: 1, gone: [], records: SpoolRecords(records), remaining: 0, end: nil
        )
        return OutgoingMessage(
            topic: TopicRoot.standard.path(.history(id)), payload: HistoryCodec.encode(batch), isRetained: false)
    }
}

func point(_ seq: UInt64, of id: TrackableID) throws -> Location {
    var location = Location(
        coordinate: Coordinate(latitude: 52 + Double(seq) * 1e-5, longitude: -8.5)!,
        time: UnixTime(start.seconds + Double(seq)))
    location.seq = seq
    location.stream = StreamID("s\(id)".filter { $0 != "-" })
    return location
}

/// The place of a history: a SQLite file, or a database of a PostgreSQL server.
enum Place {
    case file
    case server(PrivatePostgres)

    /// Runs `body` with an empty history.
    func withStore<Value>(_ body: (any HistoryStore) async throws -> Value) async throws -> Value {
        let path = "/tmp/godwit-bench-\(getpid())-\(UInt32.random(in: 0 ... .max)).sqlite"
        defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
        let store: any HistoryStore =
            switch self {
            case .file: try SQLiteHistoryStore(path: path)
            case .server(let server): try await PostgresHistoryStore(address: try server.database())
            }
        let value = try await body(store)
        try await store.close()
        return value
    }
}

/// Measures the points a second that the store accepts from memory, decoding included, with a given number in a commit.
/// The first message of each trackable is not counted, so that all trackables are known. As in a recorder, one batch is
/// decoded while the one before is stored.
func alone(
    _ messages: [OutgoingMessage], points: Int, together: Int, in place: Place = .file
) async throws -> Double {
    try await place.withStore { store in
        let first = messages.prefix(trackables)
        _ = try await store.store(decode(first))
        let rest = messages[first.count...]
        let begin = secondsNow()
        var decoded = decode(rest.prefix(together))
        for next in stride(from: rest.startIndex + together, through: rest.endIndex + together - 1, by: together) {
            let batch = decoded
            async let stored = store.store(batch)
            decoded = decode(rest[min(next, rest.endIndex)..<min(next + together, rest.endIndex)])
            _ = try await stored
        }
        return Double(points) * Double(rest.count) / Double(messages.count) / (secondsNow() - begin)
    }
}

func decode(_ messages: ArraySlice<OutgoingMessage>) -> RecordingBatch {
    var batch = RecordingBatch()
    for message in messages {
        let incoming = IncomingMessage(topic: message.topic, payload: message.payload[...], isRetained: false)
        batch.received(incoming, root: .standard, at: UnixTime(start.seconds + 1e6))
    }
    return batch
}

/// Measures the points a second from the first publish until the last point is durable.
func recorded(
    _ messages: [OutgoingMessage], points: Int, window: Int, in place: Place = .file
) async throws -> Double {
    try await place.withStore { store in
        var random = SystemRandomNumberGenerator()
        let name = "keeper-\(UInt32.random(in: 0 ... .max))"
        var configuration = RecorderConfiguration(
            client: try ClientID(name), session: .random(using: &random))
        configuration.window = window
        configuration.isFirstRun = true
        let endpoint = MQTTEndpoint(host: "127.0.0.1", port: broker.port)
        var intake = MQTTConfiguration(endpoints: [endpoint], client: try ClientID("\(name)-intake"))
        intake.session = .kept(for: .seconds(60))
        intake.receiveMaximum = window
        intake.withholdsAcknowledgements = true
        intake.limits.waitingEvents = max(64, 2 * window)
        let recorder = Recorder(
            configuration: configuration, store: store, intake: try MQTTTransport(configuration: intake),
            voice: try MQTTTransport(configuration: MQTTConfiguration(endpoints: [endpoint], for: configuration)))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            let events = recorder.events
            group.addTask { try await recorder.run() }
            for await event in events { if case .connected = event { break } }
            try await Task.sleep(for: .milliseconds(300))
            // The retained messages of the row before arrive first, and count as new in this history.
            let before = recorder.counts.handled
            let begin = secondsNow()
            for number in 0..<connections {
                let share = stride(from: number, to: messages.count, by: connections).map { messages[$0] }
                group.addTask { try await publish(share, as: "load-\(number)", to: endpoint) }
            }
            while recorder.counts.handled - before < points, secondsNow() - begin < 60 {
                try await Task.sleep(for: .milliseconds(5))
            }
            let rate = Double(recorder.counts.handled - before) / (secondsNow() - begin)
            recorder.finish()
            try await group.waitForAll()
            // One retained message of each trackable may have arrived before.
            guard recorder.counts.stored >= points, recorder.counts.duplicates <= trackables else {
                throw BenchmarkError("the recorder did not store every point exactly once: \(recorder.counts)")
            }
            return rate
        }
    }
}

extension RecorderCounts {
    fileprivate var handled: Int { self.stored + self.duplicates }
}

let loadLoop = MQTTEventLoop(name: "load")

func publish(_ messages: [OutgoingMessage], as name: String, to endpoint: MQTTEndpoint) async throws {
    let transport = try MQTTTransport(
        configuration: MQTTConfiguration(endpoints: [endpoint], client: try ClientID(name)), loop: loadLoop)
    async let running: Void = transport.run()
    for await events in transport.events {
        for event in events {
            guard case .connected = event else { continue }
            transport.send(
                messages.indices.map { .publish(messages[$0], TransportToken($0)) } + [.close(within: .seconds(120))])
        }
    }
    await running
}

var report = Report()
let live = try liveMessages()
if CommandLine.arguments[1] == "memory" {
    let postgres = try PrivatePostgres()
    compare(try await memoryRates(in: postgres))
    try postgres.end()
    exit(report.isMet ? 0 : 1)
}
if CommandLine.arguments[1] == "growth" {
    let postgres = try PrivatePostgres()
    let costs = try await growth(in: postgres)
    for (index, cost) in costs.enumerated() {
        report.measure("PostgreSQL: a point at \(index + 1),000,000 stored", cost, "µs")
    }
    report.compare(
        "PostgreSQL: a point at 10,000,000; at 1,000,000", reference: costs[0], measured: costs[9], "µs", .atMost(1.5))
    try postgres.end()
    exit(report.isMet ? 0 : 1)
}
let batches = try batchMessages(batchedPoints / perBatch, of: perBatch)
let liveAlone = try await alone(live, points: livePoints, together: 500)
for window in [20, 100, 500, 1000] {
    let rate = try await recorded(live, points: livePoints, window: window)
    report.compare(
        "a point a message, receive maximum \(window); the store alone, 500 a commit", reference: liveAlone,
        measured: rate,
        "points/s")
    if window == 500 { report.measure("the same", rate, "points/s", .atLeast(25_000)) }
}
let batchesAlone = try await alone(batches, points: batchedPoints, together: 20)
let rate = try await recorded(batches, points: batchedPoints, window: 500)
report.compare(
    "batches of \(perBatch), receive maximum 500; the store alone, 4,000 points a commit", reference: batchesAlone,
    measured: rate, "points/s")
report.measure("the same", rate, "points/s", .atLeast(60_000))

let postgres = try PrivatePostgres()
let server = Place.server(postgres)
let rates = try await memoryRates(in: postgres)
compare(rates)
let serverAlone = rates[0].measured
let serverRate = try await recorded(live, points: livePoints, window: 500, in: server)
report.compare(
    "PostgreSQL: a point a message, receive maximum 500; the store alone", reference: serverAlone, measured: serverRate,
    "points/s")
report.measure("the same", serverRate, "points/s", .atLeast(20_000))
let serverBatches = try await recorded(batches, points: batchedPoints, window: 500, in: server)
report.measure("PostgreSQL: batches of \(perBatch), receive maximum 500", serverBatches, "points/s", .atLeast(60_000))
try postgres.end()

report.measure(
    "memory of a recorder that finds \(livePoints) messages waiting",
    try await memory(of: CommandLine.arguments[1], takingIn: live, points: livePoints), "MB", .atMost(120))
// The size of each batch is near the largest that a device publishes.
let large = try batchMessages(1200, of: 950)
report.measure(
    "memory of a recorder that finds \(large.count) batches of \((large.last?.payload.count ?? 0) / 1000) KB waiting",
    try await memory(of: CommandLine.arguments[1], takingIn: large, points: large.count * 950), "MB", .atMost(120))
if !report.isMet { exit(1) }

/// Measures the points a second of bare `COPY`, and those that the store accepts from memory with as many in a commit.
func memoryRates(
    in postgres: PrivatePostgres
) async throws -> [(together: Int, reference: Double, measured: Double)] {
    var all: [(together: Int, reference: Double, measured: Double)] = []
    for together in [500, 5000] {
        let rates = try await alternate(
            rounds: 3, { try await copyAlone(livePoints, together: together, in: postgres) },
            { try await alone(live, points: livePoints, together: together, in: .server(postgres)) })
        all.append((together, rates.reference.median, rates.measured.median))
    }
    return all
}

@MainActor func compare(_ rates: [(together: Int, reference: Double, measured: Double)]) {
    for (together, reference, measured) in rates {
        report.compare(
            "PostgreSQL: a point a message, \(together) a commit, from memory; bare COPY, \(together) a commit",
            reference: reference, measured: measured, "points/s", .atLeast(0.5))
    }
}

/// Measures the microseconds for a point in PostgreSQL, from all vehicles in turn and 5,000 in a commit: for the last
/// 100,000 points of each million up to ten million.
func growth(in postgres: PrivatePostgres) async throws -> [Double] {
    let ids = try (0..<trackables).map { try TrackableID("van-\($0)") }
    return try await Place.server(postgres).withStore { store in
        var costs: [Double] = []
        for million in 0..<10 {
            var spent = 0.0
            for first in stride(from: million * 1_000_000, to: (million + 1) * 1_000_000, by: 5000) {
                var batch = RecordingBatch()
                for number in first..<(first + 5000) {
                    let id = ids[number % trackables]
                    var recording = Recording(of: id, at: UnixTime(start.seconds + 1e6))
                    recording.points = [try point(UInt64(number / trackables + 1), of: id)]
                    batch.recordings.append(recording)
                }
                let begin = secondsNow()
                _ = try await store.store(batch)
                if first % 1_000_000 >= 900_000 { spent += secondsNow() - begin }
            }
            costs.append(spent / 100_000 * 1e6)
        }
        return costs
    }
}

/// Measures the points a second that `psql` copies into the same table, with `together` points in a commit, without any
/// other work.
func copyAlone(_ count: Int, together: Int, in server: PrivatePostgres) async throws -> Double {
    let address = try server.database()
    // Opening the store creates the table.
    try await PostgresHistoryStore(address: address).close()
    let path = "/tmp/godwit-bench-copy-\(getpid()).sql"
    guard let file = fopen(path, "w") else { throw BenchmarkError("cannot write the rows to copy to \(path)") }
    defer { unlink(path) }
    let rest = String(repeating: "\t\\N", count: 14)
    for first in stride(from: 0, to: count, by: together) {
        fputs("COPY godwit.point FROM STDIN;\n", file)
        for index in first..<min(first + together, count) {
            let (van, seq) = (index % trackables, index / trackables + 1)
            fputs(
                "\(van)\t\(start.seconds + Double(seq))\t\(van)\t\(seq)\t0\t\(52 + Double(seq) * 1e-5)\t-8.5\(rest)\n",
                file)
        }
        fputs("\\.\n", file)
    }
    fclose(file)
    let begin = secondsNow()
    try server.psql(address, ["-f", path])
    return Double(count) / (secondsNow() - begin)
}
