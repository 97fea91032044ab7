import Foundation

/// A TCP connection of a test to 127.0.0.1, for requests that no client library would send, and for ordinary ones.
public final class RawConnection: Sendable {
    private let descriptor: Int32

    /// Connects to a port on 127.0.0.1.
    ///
    /// - Parameter source: The local address of the connection, such as `127.0.0.2`; `nil` for the system's choice.
    public init(port: Int, from source: String? = nil) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if let source {
            var own = sockaddr_in()
            own.sin_family = sa_family_t(AF_INET)
            own.sin_addr.s_addr = inet_addr(source)
            let descriptor = self.descriptor
            _ = withUnsafePointer(to: &own) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let descriptor = self.descriptor
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw TestSupportError("cannot connect to 127.0.0.1:\(port)") }
        _ = fcntl(self.descriptor, F_SETFL, fcntl(self.descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// Wraps a connection that the test has accepted. The descriptor is closed with this object.
    public init(accepted descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    deinit { close(self.descriptor) }

    /// `true` if the peer has closed the connection and all of its bytes were read.
    public var isClosedByPeer: Bool {
        var byte: UInt8 = 0
        let count = recv(self.descriptor, &byte, 1, Int32(MSG_PEEK))
        return count == 0 || (count < 0 && errno != EAGAIN)
    }

    /// `true` while the peer, a program on this machine, keeps the connection open. Unread bytes may be waiting.
    public var isOpenAtPeer: Bool {
        var (address, size) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
        let isNamed = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(self.descriptor, $0, &size) == 0 }
        }
        let port = String(in_port_t(bigEndian: address.sin_port), radix: 16, uppercase: true)
        let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
        let end = ":" + String(repeating: "0", count: 4 - port.count) + port
        // The columns are number, local address, remote address and state: 01 is an open connection.
        let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
        return isNamed && rows.contains { $0.count > 3 && $0[2].hasSuffix(end) && $0[3] == "01" }
    }

    /// Sends as many bytes as the socket accepts at once.
    ///
    /// - Returns: The number of bytes; `nil` if the peer has closed the connection.
    @discardableResult public func send(_ bytes: some Collection<UInt8>) -> Int? {
        let sent = Array(bytes).withUnsafeBytes { write(self.descriptor, $0, Int32(MSG_NOSIGNAL)) }
        return sent >= 0 ? sent : errno == EAGAIN ? 0 : nil
    }

    private func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Int {
        Foundation.send(descriptor, bytes.baseAddress, bytes.count, flags)
    }

    /// Sends all bytes of a text (UTF-8), and waits for the peer as necessary.
    public func sendAll(_ text: String, within limit: Duration = .seconds(60)) async throws {
        try await self.sendAll(Array(text.utf8), within: limit)
    }

    /// Sends all of these bytes, and waits for the peer as necessary.
    public func sendAll(_ bytes: [UInt8], within limit: Duration = .seconds(60)) async throws {
        var rest = bytes[...]
        let deadline = ContinuousClock.now.advanced(by: limit)
        while !rest.isEmpty {
            guard let sent = self.send(rest) else {
                throw TestSupportError("the peer closed the connection while bytes were sent")
            }
            rest = rest.dropFirst(sent)
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("the peer did not accept all bytes within \(limit)")
            }
            if sent == 0 { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    /// Returns the bytes that the peer sends until it closes the connection, or until `isEnough` returns `true` for
    /// them.
    ///
    /// - Throws: `TestSupportError` if neither happens within `limit`.
    public func read(
        within limit: Duration = .seconds(60), until isEnough: ([UInt8]) -> Bool = { _ in false }
    ) async throws -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let deadline = ContinuousClock.now.advanced(by: limit)
        while !isEnough(all) {
            let count = buffer.withUnsafeMutableBytes { recv(self.descriptor, $0.baseAddress, $0.count, 0) }
            if count > 0 {
                all += buffer.prefix(count)
                continue
            }
            if count == 0 || errno != EAGAIN { return all }
            guard ContinuousClock.now < deadline else {
                throw TestSupportError(
                    "the peer neither closed the connection nor sent enough within \(limit): \(all.count) bytes arrived"
                )
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        return all
    }
}

/// The answer to an HTTP/1.1 request that is sent on a connection of its own.
public struct HTTPAnswer: Sendable {
    /// The status code of the answer; 0 if no answer arrived.
    public var status: Int
    /// The header lines of the answer, without the status line.
    public var headers: [String]
    /// The body of the answer, with its chunks joined.
    public var body: [UInt8]
    /// The body of the answer as text (UTF-8).
    public var text: String { String(decoding: self.body, as: UTF8.self) }

    /// Sends a request on a new connection and returns the answer.
    ///
    /// - Parameter headers: Further header lines of the request, such as `Accept: text/csv`.
    public static func of(
        _ path: String, method: String = "GET", port: Int, headers: [String] = [], body: String = "",
        within limit: Duration = .seconds(60)
    ) async throws -> HTTPAnswer {
        let connection = try RawConnection(port: port)
        let lines = ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"] + headers
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        try await connection.sendAll((lines + length).joined(separator: "\r\n") + "\r\n\r\n" + body)
        return HTTPAnswer(try await connection.read(within: limit))
    }

    /// Parses an HTTP answer from the received bytes.
    public init(_ bytes: [UInt8]) {
        let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))
        let head = String(decoding: bytes[..<(end?.lowerBound ?? bytes.endIndex)], as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        self.status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        self.headers = Array(lines.dropFirst())
        self.body = end.map { Array(bytes[$0.upperBound...]) } ?? []
        if self.headers.contains(where: { $0.lowercased() == "transfer-encoding: chunked" }) {
            self.body = Self.joined(self.body)
        }
    }

    private static func joined(_ chunks: [UInt8]) -> [UInt8] {
        var rest = chunks[...]
        var body: [UInt8] = []
        while let end = rest.firstRange(of: Array("\r\n".utf8)) {
            let size = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16) ?? 0
            guard size > 0 else { break }
            body += rest[end.upperBound...].prefix(size)
            rest = rest[end.upperBound...].dropFirst(size + 2)
        }
        return body
    }
}
