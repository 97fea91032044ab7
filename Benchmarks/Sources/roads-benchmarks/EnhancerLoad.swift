import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT
import TrackingRoads

/// `godwit enhance` under load, beside bare requests to the routing engine with the same fixes.
struct EnhancerLoad {
    /// The updates with the fixes of one drive, in the order of their numbers.
    typealias Updates = [[UInt8]]

    private static let rate = 200
    private static let warmUp = 20
    private static let seconds = 20
    private static let rounds = 3

    private let client: RoadsClient
    private let enhancer: ChildProcess
    private let engine: Engine
    private let drives: [Updates]
    /// The bodies of the requests that an enhancer sends for the drives.
    private let bodies: [[UInt8]]

    /// Measures an enhancer.
    ///
    /// - Parameter program: The program `godwit`.
    static func measure(
        _ program: String, _ town: Town, _ engine: Engine, _ broker: Broker, _ report: inout Report
    ) async throws {
        let (drives, bodies) = try await Self.drives(town, engine)
        let enhancer = try ChildProcess(
            "setpriv",
            [
                "--pdeathsig", "KILL", program, "enhance", "--broker", "mqtt://127.0.0.1:\(broker.port)",
                "--engine", "valhalla:\(engine.url)",
            ])
        let client = try RoadsClient(port: broker.port)
        let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
        async let running: Void = client.run { continuation.yield() }
        for await _ in ready { break }
        let load = EnhancerLoad(
            client: client, enhancer: enhancer, engine: engine, drives: drives, bodies: bodies)
        try await load.waitForEnhancer()
        try await load.measureLatency(&report)
        try await load.measureThroughput(&report)
        client.close()
        try await running
        let status = enhancer.end(SIGTERM)
        guard status == 0 else { throw BenchmarkError("the enhancer did not end in order: status \(status)") }
    }

    /// Returns drives through the town with the requests that an enhancer sends for them.
    private static func drives(_ town: Town, _ engine: Engine) async throws -> ([Updates], [[UInt8]]) {
        let valhalla = try ValhallaEngine(url: engine.url)
        var (generator, drives, bodies) = (SplitMix64(seed: 11), [Updates](), [[UInt8]]())
        while drives.count < 14 {
            let place = Town.Place.allCases[drives.count % Town.Place.allCases.count]
            let drive = try await TownDrive.random(in: town, through: place, using: &generator)
            let fixes = drive.fixes(every: 1, noise: 5, using: &generator)
            guard fixes.count > Self.warmUp + Self.seconds else { continue }
            drives.append(try fixes.map { try LocationCodec.encode(LocationUpdate(location: $0)) })
            bodies += try await OnlineMatch(fixes, with: valhalla).requests.map { ValhallaTrace.body($0) }
        }
        return (drives, bodies)
    }

    /// Publishes fixes until the enhancer answers one.
    private func waitForEnhancer() async throws {
        let (client, drive, probe) = (self.client, self.drives[0], try TrackableID("probe"))
        // Unstructured: the function returns at the first answer, and must not wait for the other fixes.
        let probing = Task {
            for (index, fix) in drive.enumerated() {
                client.publish(fix, of: probe, seq: UInt64(index + 1))
                try await Task.sleep(for: .milliseconds(200))
            }
            client.finishArrivals()
        }
        defer { probing.cancel() }
        for await _ in client.arrivals { return }
        throw BenchmarkError("the enhancer published no position on the road")
    }

    // MARK: - The time of a position

    private func measureLatency(_ report: inout Report) async throws {
        let ids = try (0..<Self.rate).map { try TrackableID("v\($0)") }
        let count = Self.rate * (Self.warmUp + Self.seconds)
        let (client, drives) = (self.client, self.drives)
        let bare = try self.bareLatencies()
        let before = KernelFiles.cpuSeconds(of: self.enhancer.id)
        async let publishing: Void = pace(count, every: 1 / Double(Self.rate)) { number in
            let (index, fix) = (number % Self.rate, number / Self.rate)
            client.publish(drives[index % drives.count][fix], of: ids[index], seq: UInt64(fix + 1))
        }
        var times: [Double] = []
        var (received, late) = (0, 0)
        let known = Set(ids)
        for await arrival in client.arrivals where known.contains(arrival.id) {
            received += 1
            if arrival.seq > UInt64(Self.warmUp) {
                times.append(arrival.seconds * 1e3)
                if !arrival.isOnRoad { late += 1 }
            }
            if received == count { break }
        }
        await publishing
        let cpu = KernelFiles.cpuSeconds(of: self.enhancer.id) - before
        report.compare(
            "enhance at \(Self.rate) positions/s: published to received on the road, p50; the engine's answer",
            reference: bare.median, measured: times.median, "ms", .atMost(1.5))
        report.compare(
            "the same, p99", reference: bare.percentile(0.99), measured: times.percentile(0.99), "ms")
        report.measure("the same, p99", times.percentile(0.99), "ms", .atMost(150))
        report.measure("the same: positions without a road", Double(late) / Double(times.count) * 100, "%")
        report.measure(
            "the same: processor time of godwit enhance a position", cpu / Double(count) * 1e6, "µs", .atMost(100))
    }

    /// Returns the answer times of the engine in milliseconds, at the same rate.
    private func bareLatencies() throws -> [Double] {
        let requests = (0..<Self.rate * 10).map { self.bodies[$0 * 7 % self.bodies.count] }
        return try BareRequests.run(requests, port: self.engine.port, threads: 8, rate: Double(Self.rate))
            .map { $0 * 1e3 }
    }

    // MARK: - Positions a second

    private func measureThroughput(_ report: inout Report) async throws {
        var round = 0
        let count = Double(self.bodies.count)
        var cpu: [Double] = []
        let (bare, measured) = try await alternate(rounds: Self.rounds) {
            let start = secondsNow()
            _ = try BareRequests.run(self.bodies, port: self.engine.port, threads: 8, rate: nil)
            return count / (secondsNow() - start)
        } _: {
            round += 1
            let before = Cost(seconds: secondsNow(), cpuSeconds: KernelFiles.cpuSeconds(of: self.enhancer.id))
            let positions = try await self.driveAll("r\(round)")
            let cost = Cost(seconds: secondsNow(), cpuSeconds: KernelFiles.cpuSeconds(of: self.enhancer.id)) - before
            cpu.append(cost.cpuSeconds / Double(positions) * 1e6)
            return Double(positions) / cost.seconds
        }
        report.compare(
            "enhance, one engine thread, as fast as possible; bare trace_attributes, same windows",
            reference: bare.median, measured: measured.median, "positions/s", .atLeast(0.8))
        report.measure("the same: processor time of godwit enhance a position", cpu.median, "µs", .atMost(100))
    }

    /// Drives all drives at the same time, each with its next fix after the answer to the last one. Returns the number
    /// of positions.
    private func driveAll(_ name: String) async throws -> Int {
        let ids = try self.drives.indices.map { try TrackableID("\(name)-\($0)") }
        let indices = Dictionary(uniqueKeysWithValues: zip(ids, self.drives.indices))
        for (id, drive) in zip(ids, self.drives) { self.client.publish(drive[0], of: id, seq: 1) }
        let total = self.drives.reduce(0) { $0 + $1.count }
        var received = 0
        for await arrival in self.client.arrivals {
            guard let index = indices[arrival.id] else { continue }
            received += 1
            if received == total { break }
            let next = Int(arrival.seq)
            guard next < self.drives[index].count else { continue }
            self.client.publish(self.drives[index][next], of: arrival.id, seq: arrival.seq + 1)
        }
        return total
    }
}
