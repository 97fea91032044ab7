import Glibc

/// A Mosquitto of the benchmark's own, on a free port of the loopback address, with room for everything that is measured.
/// It ends with the benchmark.
public struct Broker: Sendable {
    /// Where it listens, on 127.0.0.1.
    public let port: Int

    /// Starts it and returns once it accepts connections. To be called first of all, on the main thread.
    ///
    /// - Parameter window: How many messages may be under way to a client.
    public init(window: Int = 500) throws {
        for _ in 0..<20 {
            let port = Int.random(in: 15_000..<32_000)
            let file = "/tmp/godwit-benchmark-\(getpid())-\(port).conf"
            try Self.write(Self.configuration(port, window), to: file)
            // Once it listens it has read them.
            defer { unlink(file) }
            let program = access("/usr/sbin/mosquitto", X_OK) == 0 ? "/usr/sbin/mosquitto" : "mosquitto"
            // The kernel ends it with the thread that started it, however that comes to its end: the main one, here.
            let process = try ChildProcess(
                "setpriv", ["--pdeathsig", "KILL", program, "-c", file], isQuiet: true)
            if Self.waits(for: process, on: port) {
                self.port = port
                return
            }
            process.end(SIGKILL)
        }
        throw BenchmarkError("Mosquitto does not start; is it installed? apt-get install mosquitto")
    }

    /// The usual window is TrackingMQTT's own; the queue holds what is left for a client that is away. Another user's process
    /// would not end with this one.
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
        guard let file = fopen(path, "w") else { throw BenchmarkError("\(path) cannot be written") }
        fputs(text, file)
        fclose(file)
    }

    /// Whether it accepts connections within two seconds: one that finds its port taken ends instead.
    private static func waits(for process: ChildProcess, on port: Int) -> Bool {
        for _ in 0..<400 {
            if process.hasEnded { return false }
            if self.accepts(port) {
                // Were the port another program's, ours would end about now.
                usleep(50_000)  // nothing tells that it stays: it is given time to end
                return !process.hasEnded
            }
            usleep(5_000)  // a broker tells nobody that it listens: it is asked, 400 times at most
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
