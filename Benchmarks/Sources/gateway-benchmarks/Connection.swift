import BenchmarkSupport
import Glibc

/// An HTTP/1.1 connection to 127.0.0.1 that sends complete requests and reads complete answers.
final class Connection {
    let descriptor: Int32
    private var buffer: [UInt8] = []

    /// Connects to a port.
    ///
    /// - Parameter client: The address of the connection's own end, in 127.0.0.0/8.
    init(port: Int, from client: String = "127.0.0.1") throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let descriptor = self.descriptor
        guard Self.withAddress(client, port: 0, { bind(descriptor, $0, $1) }) == 0 else {
            throw BenchmarkError("cannot connect from \(client): \(String(cString: strerror(errno)))")
        }
        guard Self.withAddress("127.0.0.1", port: port, { connect(descriptor, $0, $1) }) == 0 else {
            throw BenchmarkError("no server listens on port \(port) of 127.0.0.1")
        }
        var one: Int32 = 1
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(self.descriptor) }

    private static func withAddress(
        _ host: String, port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else {
                throw BenchmarkError("the gateway closed a connection before the end of its answer")
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends a request and returns its answer: the status and the body.
    func ask(_ method: String, _ path: String, token: String, body: [UInt8] = []) throws -> (Int, [UInt8]) {
        let head =
            "\(method) \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nUser-Agent: Overland/1.3\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
        try self.write(Array(head.utf8) + body)
        let mark = Array("\r\n\r\n".utf8)
        while true {
            if let end = self.buffer.indices.first(where: { self.buffer[$0...].starts(with: mark) }) {
                let head = String(decoding: self.buffer[..<end], as: UTF8.self)
                let status = Int(head.dropFirst(9).prefix(3)) ?? 0
                let lengths = head.lowercased().split(separator: "\r\n").filter { $0.hasPrefix("content-length:") }
                let length = lengths.first.flatMap { Int($0.split(separator: " ").last ?? "") }
                let start = end + 4
                guard let length else { return (status, try self.readChunks(from: start)) }
                while self.buffer.count < start + length { try self.read() }
                let body = Array(self.buffer[start..<(start + length)])
                self.buffer.removeFirst(start + length)
                return (status, body)
            }
            try self.read()
        }
    }

    /// Waits until the first bytes of an answer's body have arrived.
    func waitForBody() throws {
        let mark = Array("\r\n\r\n".utf8)
        while true {
            let end = self.buffer.indices.first { self.buffer[$0...].starts(with: mark) }
            if let end, end + mark.count < self.buffer.count { return }
            try self.read()
        }
    }

    /// Returns a body that is sent in chunks, their framing included, because only its time is measured.
    private func readChunks(from start: Int) throws -> [UInt8] {
        let mark = Array("\r\n0\r\n\r\n".utf8)
        while !self.buffer.suffix(mark.count).elementsEqual(mark) { try self.read() }
        defer { self.buffer = [] }
        return Array(self.buffer[start...])
    }

    private func read() throws {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { throw BenchmarkError("the gateway closed a connection before the end of its answer") }
        self.buffer += chunk[..<count]
    }
}

/// Many connections to a gateway, each with an open event stream, read by one thread.
final class Streams {
    /// The number of streams from one client address. The gateway accepts a quarter of all connections from one address,
    /// which are at least 2,500 with the open files of this benchmark.
    private static let perAddress = 1_000

    private let connections: [Connection]
    private var states: [pollfd]

    /// Opens `count` event streams of a trackable and waits until each has sent something.
    init(_ count: Int, port: Int, token: String, trackable: String) throws {
        let request = Array(
            "GET /api/v1/live?trackables=\(trackable) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
                .utf8)
        var connections: [Connection] = []
        for index in 0..<count {
            let connection = try Connection(port: port, from: "127.0.0.\(1 + index / Self.perAddress)")
            try connection.write(request)
            connections.append(connection)
        }
        self.connections = connections
        self.states = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        var silent = Set(0..<count)
        try self.read(until: secondsNow() + 60) { index, _ in
            silent.remove(index)
            return !silent.isEmpty
        }
        guard silent.isEmpty else { throw BenchmarkError("\(silent.count) of \(count) event streams sent nothing") }
    }

    /// Passes the received bytes to `each` until it returns `false`, or until the deadline.
    func read(until deadline: Double, _ each: (Int, ArraySlice<UInt8>) throws -> Bool) throws {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let left = deadline - secondsNow(), left > 0 {
            guard poll(&self.states, nfds_t(self.states.count), Int32(min(left, 1) * 1000)) > 0 else { continue }
            for index in self.states.indices where self.states[index].revents != 0 {
                let length = recv(self.connections[index].descriptor, &chunk, chunk.count, 0)
                guard length > 0 else { throw BenchmarkError("the gateway closed an event stream") }
                guard try each(index, chunk[..<length]) else { return }
            }
        }
    }

    /// The number of connections that are still open, according to the kernel.
    var standing: Int {
        self.connections.count { connection in
            var byte: UInt8 = 0
            let count = recv(connection.descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            return count != 0
        }
    }
}
