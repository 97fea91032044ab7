import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingMQTT

/// What a recorder's process takes of memory at most, in MB, while it takes in what waited for it at the broker.
func memory(of program: String, takingIn messages: [OutgoingMessage]) async throws -> Double {
    let folder = "/tmp/godwit-bench-backlog-\(getpid())"
    mkdir(folder, 0o700)
    defer { _ = try? ChildProcess("rm", ["-rf", folder]).waitForEnd() }
    let file = "\(folder)/history.sqlite"
    func start() throws -> ChildProcess {
        try ChildProcess(
            "setpriv",
            [
                "--pdeathsig", "KILL", program, "record", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--store",
                "sqlite:\(file)", "--name", "backlog", "--log-level", "error",
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
    while try stored() == 0 { usleep(50_000) }
    first.end(SIGTERM)
    let before = try stored()
    try await publish(messages, as: "backlog-load", to: MQTTEndpoint(host: "127.0.0.1", port: broker.port))
    let recorder = try start()
    let deadline = secondsNow() + 90
    // One of each trackable may be there already.
    while try stored() < before + messages.count - trackables, secondsNow() < deadline { usleep(50_000) }
    let peak = KernelFiles.kibibytes("VmHWM", in: "/proc/\(recorder.id)/status") / 1024
    recorder.end(SIGTERM)
    guard try stored() >= before + messages.count - trackables else {
        throw BenchmarkError("not everything that waited was stored")
    }
    return peak
}
