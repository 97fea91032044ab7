import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT

/// What a recorder's process takes of memory at most, in MB, while it takes in what waited for it at the broker.
///
/// - Parameter points: How many points are stored in the end, at the least.
func memory(of program: String, takingIn messages: [OutgoingMessage], points: Int) async throws -> Double {
    let folder = "/tmp/godwit-bench-backlog-\(getpid())"
    mkdir(folder, 0o700)
    defer { _ = try? ChildProcess("rm", ["-rf", folder]).waitForEnd() }
    let file = "\(folder)/history.sqlite"
    func start() throws -> ChildProcess {
        try ChildProcess(
            "setpriv",
            [
                "--pdeathsig", "KILL", program, "record", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--store",
                "sqlite:\(file)", "--name", "backlog-\(messages.count)", "--log-level", "error",
            ])
    }
    func stored() throws -> Int {
        let output = "\(folder)/count"
        try ChildProcess("sh", ["-c", "sqlite3 '\(file)' 'SELECT count(*) FROM point' >'\(output)' 2>/dev/null"])
            .waitForEnd()
        return Int(KernelFiles.read(output).prefix { $0 != "\n" }) ?? 0
    }
    // What the broker keeps of every trackable comes first; then the session is there, and waits.
    let first = try start()
    try wait(within: 30) { try stored() > 0 }
    first.end(SIGTERM)
    try await publish(messages, as: "backlog-load", to: MQTTEndpoint(host: "127.0.0.1", port: broker.port))
    let recorder = try start()
    try wait(within: 90) { try stored() >= points }
    let peak = KernelFiles.kibibytes("VmHWM", in: "/proc/\(recorder.id)/status") / 1024
    recorder.end(SIGTERM)
    return peak
}

/// Waits until something holds; a file tells nobody that it grew, so it is asked.
private func wait(within seconds: Double, until holds: () throws -> Bool) throws {
    let deadline = secondsNow() + seconds
    while try !holds() {
        guard secondsNow() < deadline else { throw BenchmarkError("not everything was stored within \(seconds) s") }
        usleep(50_000)  // it is asked again: what a process holds or has stored tells nobody when it changes
    }
}
