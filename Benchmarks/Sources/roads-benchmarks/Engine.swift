import BenchmarkSupport
import Glibc

/// The routing engine Valhalla on a free port of the loopback address, with one thread, on a processor of its own if
/// there are several. It ends with the benchmark.
struct Engine: Sendable {
    let port: Int

    /// The address of the engine.
    var url: String { "http://127.0.0.1:\(self.port)" }

    /// Starts the engine with the roads of a file, and returns once it answers. Call this on the main thread.
    init(_ file: String) throws {
        let port = Int.random(in: 15_000..<32_000)
        // The engine has a thread for each processor that it may use.
        let last = max(0, sysconf(Int32(_SC_NPROCESSORS_ONLN)) - 1)
        let process = try ChildProcess(
            "setpriv",
            ["--pdeathsig", "KILL", "taskset", "-c", "\(last)", "scripts/roads", "--port", "\(port)", file],
            isQuiet: true)
        self.port = port
        for _ in 0..<600 {
            if process.hasEnded { break }
            let answer = try? HTTPConnection(port: port).exchange("GET", "/status")
            if answer?.status == 200 { return }
            usleep(100_000)  // no event reports that the engine answers, so this asks at most 600 times
        }
        process.end(SIGKILL)
        throw BenchmarkError("cannot start the routing engine. Install it with: scripts/roads --install-only")
    }
}

/// An HTTP/1.1 connection to 127.0.0.1 that sends one request after the other and waits for the answers.
final class HTTPConnection {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(port: Int) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let descriptor = self.descriptor
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw BenchmarkError("no server listens on port \(port) of 127.0.0.1") }
        var one: Int32 = 1
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(self.descriptor) }

    /// Sends a request, and returns the status and the number of bytes of its answer.
    func exchange(_ method: String, _ path: String, _ body: [UInt8] = []) throws -> (status: Int, bytes: Int) {
        let head =
            "\(method) \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.count)\r\n\r\n"
        let request = Array(head.utf8) + body
        var sent = 0
        while sent < request.count {
            let count = request.withUnsafeBytes {
                send(self.descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))  // not empty
            }
            guard count > 0 else { throw BenchmarkError("the routing engine closed a connection") }
            sent += count
        }
        return try self.answer()
    }

    private func answer() throws -> (status: Int, bytes: Int) {
        var end: Int?
        while end == nil {
            try self.read()
            end = self.buffer.indices.dropLast(3).first { self.buffer[$0..<$0 + 4].elementsEqual([13, 10, 13, 10]) }
        }
        let head = String(decoding: self.buffer[..<(end ?? 0)], as: UTF8.self).lowercased()
        let status = Int(head.dropFirst(9).prefix(3)) ?? 0
        let line = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
        guard let length = line?.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw BenchmarkError("the answer of the routing engine has no length")
        }
        let total = (end ?? 0) + 4 + length
        while self.buffer.count < total { try self.read() }
        self.buffer.removeFirst(total)
        return (status, length)
    }

    private func read() throws {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { throw BenchmarkError("the routing engine closed a connection") }
        self.buffer += chunk[..<count]
    }
}
