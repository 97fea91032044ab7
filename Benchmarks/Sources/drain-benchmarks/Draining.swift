import BenchmarkSupport
import Foundation
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingSpool
import TrackingSubscriber

/// The cost of draining a log: publishing all of its records.
struct Drained {
    var seconds: Double
    var processorSeconds: Double
    /// The largest resident memory of the draining program, in MB.
    var resident: Double
}

/// Drains a log in a program of its own, so that its memory can be measured separately.
func drainInOwnProgram(_ path: String, port: Int) throws -> Drained {
    let child = Process()
    let pipe = Pipe()
    child.executableURL = URL(filePath: CommandLine.arguments[0])
    child.arguments = ["drain", path, "\(port)"]
    child.standardOutput = pipe
    try child.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    child.waitUntilExit()
    let values = String(decoding: output, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard values.count == 3 else { throw BenchmarkError("the program that drains the log failed") }
    return Drained(seconds: values[0], processorSeconds: values[1], resident: values[2])
}

/// Publishes all records of a log, and prints the seconds, the microseconds of processor time a point, and the largest
/// resident memory in MB.
func drain(_ path: String, port: Int) async throws {
    let count = try await held(path)
    let publisher = try makePublisher(path, port: port)
    let states = publisher.states
    async let running: Void = publisher.run()
    for await change in states where change.state == .publishing { break }
    let start = Cost.soFar
    publisher.finish()
    try await running
    let cost = Cost.soFar - start
    guard try await held(path) == 0 else { throw BenchmarkError("the log still has records after the drain") }
    print(
        cost.seconds, cost.cpuSeconds / Double(count) * 1e6,
        KernelFiles.kibibytes("VmHWM", in: "/proc/self/status") / 1024)
}

/// Returns the number of records in a log.
private func held(_ path: String) async throws -> Int {
    let log = SQLiteSpool(path: path)
    _ = try await log.open(now: UnixTime(0))
    let count = try await log.summary().total.count
    try await log.close()
    return count
}

private func makePublisher(_ path: String, port: Int) throws -> AssetPublisher<MQTTTransport> {
    var random = SystemRandomNumberGenerator()
    var configuration = PublisherConfiguration(client: try ClientID("van-7-box"), session: .random(using: &random))
    configuration.recording.batchSize = batchSize
    // With this resolution, every fix is sent.
    configuration.defaultResolution = try Resolution(accuracy: .high, desiredInterval: .zero, minimumDisplacement: 0)
    let publisher = AssetPublisher(
        configuration: configuration, transport: try makeTransport(configuration.client, port: port),
        spool: SQLiteSpool(path: path))
    publisher.add(Trackable(van))
    return publisher
}

private func makeTransport(_ client: ClientID, port: Int) throws -> MQTTTransport {
    try MQTTTransport(
        configuration: MQTTConfiguration(endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], client: client))
}

/// Returns the times, in milliseconds, between live fixes and their arrival at a subscriber: 100 fixes a second, for
/// two seconds or while a log drains, regardless of the log's other work.
func liveLatencies(_ path: String, port: Int) async throws -> [Double] {
    let publisher = try makePublisher(path, port: port)
    var random = SystemRandomNumberGenerator()
    let configuration = SubscriberConfiguration(client: try ClientID("watcher"), session: .random(using: &random))
    let watcher = AssetSubscriber(
        configuration: configuration, transport: try makeTransport(configuration.client, port: port))
    return try await withThrowingTaskGroup(of: Void.self) { group in
        let (states, updates) = (watcher.states(of: van), watcher.locations(of: van))
        let publisherStates = publisher.states
        watcher.watch(van)
        group.addTask { try await watcher.run() }
        group.addTask { try await publisher.run() }
        publisher.publish(makePoint(0))
        for await change in publisherStates where change.state == .online { break }
        for await state in states where state == .online { break }
        let count = 200
        async let pacing: Void = pace(count, every: 0.01) { _ in
            var fix = makePoint(0)
            // The altitude carries the time of the publish, because the numbers of the stream cannot.
            fix.altitude = secondsNow()
            publisher.publish(fix)
        }
        var latencies: [Double] = []
        for await received in updates {
            let now = secondsNow()
            for location in received.skipped + [received.update.location] {
                guard let sent = location.altitude, sent != makePoint(0).altitude else { continue }
                latencies.append((now - sent) * 1e3)
            }
            if latencies.count >= count { break }
        }
        await pacing
        publisher.finish(within: .zero)
        watcher.finish()
        try await group.waitForAll()
        return latencies
    }
}
