import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT

/// The resources that an agent used while it was watched; memory in MB.
struct Observation {
    var updates: Int
    var anonymous: Double
    var resident: Double
    /// The processor time of the agent as a share of one core, 0…1 or more.
    var load: Double
}

/// One run of the agent, which tracks a simulated vehicle at one fix a second.
struct Carrier {
    let process: ChildProcess
    let watcher: Watcher
    /// The time in seconds from the start of the agent until it reports that one of its updates was acknowledged.
    let secondsToOnline: Double

    /// Starts an agent, waits until it is online, passes it to `body`, and ends it in order.
    static func run<Value>(_ name: String, _ body: (Carrier) async throws -> Value) async throws -> Value {
        let watcher = try Watcher(name, port: broker.port)
        async let watching: Void = watcher.run()
        for await _ in watcher.subscriptions { break }
        let start = secondsNow()
        let process = try ChildProcess(
            program,
            [
                "run", "--trackable", name, "--broker", "mqtt://127.0.0.1:\(broker.port)", "--source", "simulate:",
                "--default-resolution", "HIGH/1000/0",
            ])
        var arrivals = watcher.arrivals.makeAsyncIterator()
        guard let arrival = await arrivals.next() else {
            process.end(SIGKILL)
            throw BenchmarkError("the agent did not come online at the broker")
        }
        let value = try await body(Carrier(process: process, watcher: watcher, secondsToOnline: arrival - start))
        let status = process.end(SIGTERM)
        guard status == 0 else { throw BenchmarkError("the agent did not end in order: status \(status)") }
        watcher.close()
        try await watching
        return value
    }

    func observe(for seconds: Double) async throws -> Observation {
        let status = "/proc/\(self.process.id)/status"
        let (before, start) = (KernelFiles.cpuSeconds(of: self.process.id), secondsNow())
        let count = self.watcher.updates
        try await Task.sleep(for: .seconds(seconds))
        let load = (KernelFiles.cpuSeconds(of: self.process.id) - before) / (secondsNow() - start)
        return Observation(
            updates: self.watcher.updates - count,
            anonymous: KernelFiles.kibibytes("RssAnon", in: status) * 1_024 / 1e6,
            resident: KernelFiles.kibibytes("VmRSS", in: status) * 1_024 / 1e6, load: load)
    }
}
