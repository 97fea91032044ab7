import Glibc

/// A private Mosquitto for the benchmark, on a free port of the loopback address, with queues for all measured
/// messages. It ends with the benchmark.
public struct Broker: Sendable {
    /// The port of the broker on 127.0.0.1.
    public let port: Int

    /// Starts the broker and returns once it accepts connections. Call this first of all, on the main thread.
    ///
    /// - Parameter window: The largest number of messages that the broker sends a client before an acknowledgement.
    public init(window: Int = 500) throws {
        for _ in 0..<20 {
            let port = Int.random(in: 15_000..<32_000)
            let file = "/tmp/godwit-benchmark-\(getpid())-\(port).conf"
            try Self.write(Self.configuration(port, window), to: file)
            // Once the broker listens, it has read its configuration.
            defer { unlink(file) }
            let program = access("/usr/sbin/mosquitto", X_OK) == 0 ? "/usr/sbin/mosquitto" : "mosquitto"
            // The kernel ends the broker when the thread that started it ends for any reason. Here this is the main
            // thread.
            let process = try ChildProcess(
                "setpriv", ["--pdeathsig", "KILL", program, "-c", file], isQuiet: true)
            if Self.waits(for: process, on: port) {
                self.port = port
                return
            }
            process.end(SIGKILL)
        }
        throw BenchmarkError("cannot start Mosquitto. Install it with: apt-get install mosquitto")
    }

    /// Returns the configuration of the broker. The default window is that of TrackingMQTT; the queue holds the
    /// messages for a client that is not connected. The broker runs as this user, because another user's process would
    /// not end with the benchmark.
    private static func configuration(_ port: Int, _ window: Int) -> String {
        """
        listener \(port) 127.0.0.1
        user \(String(cString: getpwuid(getuid()).pointee.pw_name))
        allow_anonymous true
        log_type error
        max_inflight_messages \(window)
        max_queued_messages 1000000
        set_tcp_nodelay true

        """
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else {
            throw BenchmarkError("cannot write the broker's configuration \(path)")
        }
        fputs(text, file)
        fclose(file)
    }

    /// Returns `true` if the broker accepts connections within two seconds. A broker whose port is taken ends instead.
    private static func waits(for process: ChildProcess, on port: Int) -> Bool {
        for _ in 0..<400 {
            if process.hasEnded { return false }
            if self.accepts(port) {
                // If the port belonged to another program, the broker would end about now.
                usleep(50_000)  // no event reports that the broker stays, so it gets time to end
                return !process.hasEnded
            }
            usleep(5_000)  // no event reports that the broker listens, so this asks at most 400 times
        }
        return false
    }

    private static func accepts(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
