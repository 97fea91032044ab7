// The gateway: the rate at which batches of Overland become durable, the time of a position to many browsers, the
// memory of idle streams, and the time of requests for last positions.
//
// Run `gateway-benchmarks PROGRAM`, where PROGRAM is a release build of `godwit`. Broker, gateway and load share the
// machine. The reference is a bare Hummingbird handler, which runs beside the gateway.

import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT

/// The largest number of live streams that the benchmark opens at once.
let mostStreams = 10_000

// The gateway inherits the limit of open files, and uses at most 200 of them for other purposes than connections.
try DescriptorLimit.raise(to: mostStreams + 300)

if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "bare", let port = Int(CommandLine.arguments[2]) {
    try await Bare.serve(port: port)
    exit(0)
}
guard CommandLine.arguments.count == 2 else {
    print("usage: gateway-benchmarks PROGRAM")
    exit(64)
}
let program = CommandLine.arguments[1]
let broker = try Broker()
let folder = "/tmp/godwit-gateway-bench-\(getpid())"
mkdir(folder, 0o700)

/// Creates a token for the gateway with this state folder, and returns the token that the program prints.
func makeToken(_ name: String, _ more: [String], in folder: String) throws -> String {
    let path = "\(folder)/token"
    let command =
        "exec '\(program)' token create --name \(name) --state '\(folder)' \(more.joined(separator: " ")) >'\(path)'"
    guard try ChildProcess("sh", ["-c", command]).waitForEnd() == 0 else {
        throw BenchmarkError("godwit token create failed")
    }
    return String(KernelFiles.read(path).prefix { $0 != "\n" })
}

/// Waits until a server accepts connections on a port.
func wait(for port: Int) throws {
    for _ in 0..<1000 {
        if (try? Connection(port: port)) != nil { return }
        usleep(10_000)  // no event reports that the server listens, so this asks at most 1000 times
    }
    throw BenchmarkError("no server listens on port \(port) of 127.0.0.1")
}

/// Returns a batch of 200 points of one device as Overland writes it.
func batch(_ number: Int) -> [UInt8] {
    let features = (0..<200).map { index -> String in
        let time = 1_700_000_000 + number * 200 + index
        return """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[-8.\(index)1,52.\(index)2]},"properties":{"timestamp":"\(stamp(time))",\
            "altitude":80,"speed":4,"course":271,"horizontal_accuracy":5,"vertical_accuracy":3,"motion":["driving"],"wifi":"",\
            "battery_state":"unplugged","battery_level":0.85,"device_id":"phone"}}
            """
    }
    return Array("{\"locations\":[\(features.joined(separator: ","))]}".utf8)
}

/// Starts a gateway on a port, with a state folder and a client id of its own.
func startGateway(_ name: String, _ port: Int, in folder: String) throws -> ChildProcess {
    let gateway = try ChildProcess(
        "setpriv",
        [
            "--pdeathsig", "KILL", program, "serve", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--listen",
            "127.0.0.1:\(port)", "--state", folder, "--client-id", name,
            "--no-store", "--rate-limit", "100000", "--log-level", "error",
        ])
    try wait(for: port)
    return gateway
}

/// Starts the reference server on a port.
func startBare(_ port: Int) throws -> ChildProcess {
    let bare = try ChildProcess(
        "setpriv", ["--pdeathsig", "KILL", CommandLine.arguments[0], "bare", "\(port)"], isQuiet: true)
    try wait(for: port)
    return bare
}

let phones = 8
let tokens = try (0..<phones).map { try makeToken("phone\($0)", ["--publish", "phone-\($0)"], in: folder) }
let reader = try makeToken("desk", ["--read-all"], in: folder)
let ports = (gateway: Int.random(in: 32_100..<32_500), bare: Int.random(in: 32_500..<32_700))
let gateway = try startGateway("gateway", ports.gateway, in: folder)
let bare = try startBare(ports.bare)
var report = Report()

// MARK: - Overland

/// Sends batches on as many connections as there are phones. Returns the batches a second, and the time of each answer
/// in seconds.
func overland(_ port: Int, batches: Int, from first: Int, pause: Double) async throws -> (
    perSecond: Double, times: [Double]
) {
    let start = secondsNow()
    let times = try await withThrowingTaskGroup(of: [Double].self) { group in
        for phone in 0..<phones {
            let token = tokens[phone]
            group.addTask {
                let connection = try Connection(port: port)
                var times: [Double] = []
                for number in 0..<batches {
                    let body = batch(first + number)
                    let due = start + pause * Double(number)
                    // The pause keeps the given pace of the load.
                    if pause > 0, due > secondsNow() { usleep(UInt32((due - secondsNow()) * 1e6)) }
                    let sent = secondsNow()
                    let (status, answer) = try connection.ask("POST", "/overland", token: token, body: body)
                    guard status == 200, String(decoding: answer, as: UTF8.self).contains(#""result":"ok""#) else {
                        throw BenchmarkError(
                            "the gateway answered a batch with status \(status): \(String(decoding: answer.prefix(200), as: UTF8.self))"
                        )
                    }
                    times.append(secondsNow() - sent)
                }
                return times
            }
        }
        return try await group.reduce(into: []) { $0 += $1 }
    }
    return (Double(phones * batches) / (secondsNow() - start), times.sorted())
}

_ = try await overland(ports.gateway, batches: 5, from: 0, pause: 0)
let taken = try await overland(ports.gateway, batches: 60, from: 10, pause: 0)
let read = try await overland(ports.bare, batches: 60, from: 10, pause: 0)
report.compare(
    "Overland's batches of 200, durable", reference: read.perSecond * 200, measured: taken.perSecond * 200, "points/s")
report.measure("the same", taken.perSecond * 200, "points/s", .atLeast(10_000))
let paced = try await overland(ports.gateway, batches: 40, from: 100, pause: Double(phones) / 25)
report.measure("answer at 5,000 points/s, p99", paced.times[paced.times.count * 99 / 100] * 1000, "ms", .below(250))

// MARK: - Live streams

let transport = try MQTTClient(
    configuration: MQTTConfiguration(
        endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port, isTLS: false)], client: ClientID("load")))
let van = try TrackableID("van")

func update(_ seq: UInt64) throws -> [UInt8] {
    var location = Location(
        coordinate: Coordinate(latitude: 52, longitude: -8)!, time: UnixTime(1_790_000_000 + Double(seq)))
    (location.seq, location.stream) = (seq, StreamID("one"))
    return try LocationCodec.encode(LocationUpdate(location: location))
}

// The connection runs during everything below, and is cancelled at the end. It is an unstructured task, because the top
// level of a program has no scope for a child task.
let publishing = Task { await transport.run() }
try await transport.publish(OutgoingMessage(topic: "tracking/van", payload: try update(1), isRetained: true))
do {
    let streams = try Streams(1_000, port: ports.gateway, token: reader, trackable: "van")
    var times: [Double] = []
    for seq in UInt64(2)...21 {
        let sent = secondsNow()
        try await transport.publish(OutgoingMessage(topic: "tracking/van", payload: try update(seq), isRetained: true))
        let mark = Array("\"seq\":\(seq)".utf8)
        var waiting = 1_000
        try streams.read(until: secondsNow() + 10) { _, bytes in
            guard bytes.indices.contains(where: { bytes[$0...].starts(with: mark) }) else { return true }
            times.append(secondsNow() - sent)
            waiting -= 1
            return waiting > 0
        }
        guard waiting == 0 else { throw BenchmarkError("\(waiting) event streams did not receive update \(seq)") }
    }
    times.sort()
    report.measure(
        "a position from MQTT to 1,000 streams, p99", times[times.count * 99 / 100] * 1000, "ms", .below(100))
}

/// Returns the memory of a process with this number of idle event streams, in KiB: in total, and for each stream.
func memory(of process: ChildProcess, port: Int, token: String, streams: Int) throws -> (all: Double, each: Double) {
    func resident() -> Double { KernelFiles.kibibytes("VmRSS", in: "/proc/\(process.id)/status") }
    let before = resident()
    let idle = try Streams(streams, port: port, token: token, trackable: "van")
    // This waits until each stream has received a heartbeat.
    try idle.read(until: secondsNow() + 20) { _, _ in true }
    guard idle.standing == streams else {
        throw BenchmarkError("the gateway closed \(streams - idle.standing) idle event streams")
    }
    let after = resident()
    return (after, (after - before) / Double(streams))
}

do {
    // The memory is measured in new processes, because an allocator keeps memory that was used once.
    let state = "\(folder)/idle"
    mkdir(state, 0o700)
    let token = try makeToken("desk", ["--read-all"], in: state)
    let ports = (gateway: Int.random(in: 31_700..<31_900), bare: Int.random(in: 31_900..<32_100))
    let (gateway, bare) = (try startGateway("idle", ports.gateway, in: state), try startBare(ports.bare))
    let reference = try memory(of: bare, port: ports.bare, token: token, streams: 5_000)
    let measured = try memory(of: gateway, port: ports.gateway, token: token, streams: 5_000)
    report.compare(
        "memory with 5,000 streams that idle", reference: reference.all / 1024, measured: measured.all / 1024, "MiB",
        .atMost(1.25))
    report.compare("of that, of each stream", reference: reference.each, measured: measured.each, "KiB")
    bare.end(SIGKILL)
    gateway.end(SIGTERM)
}
do {
    let many = try Streams(mostStreams, port: ports.gateway, token: reader, trackable: "van")
    try many.read(until: secondsNow() + 20) { _, _ in true }
    report.measure("of 10,000 streams, standing after 20 s", Double(many.standing), "", .atLeast(Double(mostStreams)))
}

// MARK: - Last positions

for index in 0..<10_000 {
    try await transport.publish(
        OutgoingMessage(topic: "tracking/bus-\(index)", payload: try update(1), isRetained: true))
}
let client = try Connection(port: ports.gateway)
var positions: [Double] = []
for _ in 0..<10 {
    let start = secondsNow()
    let (status, body) = try client.ask("GET", "/api/v1/positions", token: reader)
    guard status == 200, body.count > 1_000_000 else {
        throw BenchmarkError(
            "the gateway answered the request for last positions with status \(status) and \(body.count) bytes")
    }
    positions.append(secondsNow() - start)
}
report.measure("last positions of 10,000 trackables, best of 10", positions.min()! * 1000, "ms", .atMost(50))
// MARK: - History

let truck = try RecordedTruck(program, broker: broker.port, in: folder, port: Int.random(in: 32_700..<32_760))
var (printed, streamed, first): ([Double], [Double], [Double]) = ([], [], [])
for _ in 0..<7 {
    printed.append(try truck.printed())
    streamed.append(try truck.read())
    first.append(try truck.firstByte())
}
report.compare(
    "history of 100,000 points as GeoJSON, beside `godwit history`", reference: printed.median * 1000,
    measured: streamed.median * 1000, "ms", .atMost(1.2))
report.measure("the same", streamed.median, "s", .below(1.2))
report.measure("first byte of a day", first.median * 1000, "ms", .atMost(24))
truck.end()

publishing.cancel()
gateway.end(SIGTERM)
bare.end(SIGKILL)
try ChildProcess("rm", ["-rf", folder]).waitForEnd()
exit(report.isMet ? 0 : 1)
