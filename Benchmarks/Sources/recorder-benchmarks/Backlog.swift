import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT

/// Returns the largest resident memory of a recorder, in MB, while it receives and stores messages that the broker held
/// for it.
///
/// - Parameter points: The least number of points that are stored in the end.
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
    // The recorder first receives the retained messages of every trackable. Then it ends, and its session remains at
    // the broker.
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

/// Waits until a condition is met. It is checked repeatedly, because no event reports that a file grew.
private func wait(within seconds: Double, until holds: () throws -> Bool) throws {
    let deadline = secondsNow() + seconds
    while try !holds() {
        guard secondsNow() < deadline else {
            throw BenchmarkError("the recorder did not store all points within \(seconds) s")
        }
        usleep(50_000)  // checked again, because no event reports changes of a process's memory or of stored rows
    }
}
