public import Foundation
import Synchronization

/// A small HTTP/1.1 client for tests, which sends one request on each connection to 127.0.0.1. The bytes are those of
/// the test, without a library between.
public enum LoopbackHTTP {
    /// The answer of an HTTP server.
    public struct Answer: Sendable {
        /// The status code.
        public var status: Int
        /// The header fields of the answer, by their names in lower case.
        public var headers: [String: String]
        /// The body of the answer, with its chunks joined.
        public var body: Data

        /// The body of the answer as text (UTF-8).
        public var text: String { String(decoding: self.body, as: UTF8.self) }
    }

    /// Sends a request on a new connection and returns the answer.
    ///
    /// - Throws: `TestSupportError` if no answer arrives in time, or the answer is not HTTP.
    public static func request(
        _ method: String, _ path: String, port: Int, headers: [String: String] = [:], body: String? = nil,
        within limit: Duration = .seconds(60)
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let connection = try HTTPConnection(port: port, within: limit)
                        try connection.send(method, path, headers, body)
                        let (status, headers) = try connection.head()
                        var data = Data()
                        while let more = try connection.body() { data += more }
                        return Answer(status: status, headers: headers, body: data)
                    })
            }
        }
    }
}

/// One event of a stream of server-sent events.
public struct ServerSentEvent: Hashable, Sendable {
    /// The name of the event; `message` if the server gave none.
    public var name: String
    /// The last event id that the server sent, up to and including this event.
    public var id: String
    /// The data of the event, with its lines joined.
    public var data: String
}

/// A stream of server-sent events that a test reads over its own connection.
public final class EventStream: Sendable {
    /// The events of the stream in order. The sequence ends with the connection.
    public let events: AsyncStream<ServerSentEvent>
    private let connection: HTTPConnection

    /// Opens a stream of server-sent events and returns after the head of the answer has arrived.
    ///
    /// - Throws: `TestSupportError` unless the answer has the status 200.
    public init(_ path: String, port: Int, headers: [String: String] = [:]) async throws {
        let connection = try HTTPConnection(port: port, within: .seconds(60))
        try connection.send("GET", path, headers.merging(["Accept": "text/event-stream"]) { $1 }, nil)
        self.connection = connection
        let (events, reported) = AsyncStream.makeStream(of: ServerSentEvent.self)
        self.events = events
        try await withCheckedThrowingContinuation { (opened: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread {
                do {
                    let (status, _) = try connection.head()
                    guard status == 200 else {
                        let text = String(decoding: (try? connection.body()) ?? Data(), as: UTF8.self)
                        throw TestSupportError(
                            "the request for the event stream was answered with status \(status): \(text)")
                    }
                } catch {
                    opened.resume(throwing: error)
                    return reported.finish()
                }
                opened.resume()
                var parser = EventParser()
                while let more = try? connection.body() {
                    for event in parser.read(more) { reported.yield(event) }
                }
                reported.finish()
            }
        }
    }

    deinit { self.close() }

    /// Closes the connection of the stream without notice to the server.
    public func close() { self.connection.close() }

    /// Returns the first event of the stream that matches.
    ///
    /// - Throws: `TestSupportError` if no event matches within 60 s or the stream ends.
    public func first(where isIt: @escaping @Sendable (ServerSentEvent) -> Bool) async throws -> ServerSentEvent {
        try await withThrowingTaskGroup(of: ServerSentEvent?.self) { group in
            group.addTask { await self.events.first(where: isIt) }
            group.addTask {
                try await Task.sleep(for: .seconds(60))
                throw TestSupportError("the expected server-sent event did not arrive within 60 s")
            }
            defer { group.cancelAll() }
            guard let event = try await group.next() ?? nil else {
                throw TestSupportError("the event stream ended before the expected event")
            }
            return event
        }
    }
}

/// Parses the lines of a stream into server-sent events.
private struct EventParser {
    private var rest: [UInt8] = []
    private var name = ""
    private var id = ""
    private var data: [String] = []

    mutating func read(_ more: Data) -> [ServerSentEvent] {
        self.rest += more
        var events: [ServerSentEvent] = []
        while let end = self.rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: self.rest[..<end], as: UTF8.self)
            self.rest.removeFirst(end + 1)
            if let event = self.read(line) { events.append(event) }
        }
        return events
    }

    private mutating func read(_ line: String) -> ServerSentEvent? {
        guard !line.isEmpty else {
            defer { (self.name, self.data) = ("", []) }
            guard !self.data.isEmpty else { return nil }
            return ServerSentEvent(
                name: self.name.isEmpty ? "message" : self.name, id: self.id, data: self.data.joined(separator: "\n"))
        }
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
        let value = line[colon...].dropFirst()
        let text = String(value.hasPrefix(" ") ? value.dropFirst() : value)
        switch line[..<colon] {
        case "event": self.name = text
        case "id": self.id = text
        case "data": self.data.append(text)
        default: break
        }
        return nil
    }
}

/// An HTTP connection that is read with blocking calls, from one thread.
final class HTTPConnection: Sendable {
    private struct State {
        var buffer = Data()
        var isChunked = false
        var left: Int?
        var isOver = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())
    private let isOpen = Mutex(true)

    init(port: Int, within limit: Duration) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var time = timeval(tv_sec: Int(limit.components.seconds), tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw TestSupportError("no server listens on 127.0.0.1:\(port)") }
    }

    deinit { Foundation.close(self.descriptor) }

    /// Closes the connection. A blocked reader then returns.
    func close() {
        let wasOpen = self.isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { shutdown(self.descriptor, Int32(SHUT_RDWR)) }
    }

    func send(_ method: String, _ path: String, _ headers: [String: String], _ body: String?) throws {
        var all = headers
        all["Host"] = all["Host"] ?? "127.0.0.1"
        if all["Accept"] != "text/event-stream" { all["Connection"] = "close" }
        if let body { all["Content-Length"] = String(body.utf8.count) }
        let text = "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0): \($1)\r\n" }.joined() + "\r\n" + (body ?? "")
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Foundation.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else {
                throw TestSupportError("the server closed the connection while the request was sent")
            }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Reads the status and the header fields of the answer.
    func head() throws -> (Int, [String: String]) {
        try self.state.withLock { state in
            guard let end = try self.line(in: &state, "\r\n\r\n") else {
                throw TestSupportError("the server closed the connection before its answer")
            }
            let lines = end.components(separatedBy: "\r\n")
            guard let status = lines[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
                throw TestSupportError("the answer is not HTTP. Its first line is: \(lines[0])")
            }
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[line[..<colon].lowercased()] = line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
            }
            state.isChunked = headers["transfer-encoding"]?.lowercased() == "chunked"
            state.left = headers["content-length"].flatMap { Int($0) }
            state.isOver = status == 204 || status == 304 || state.left == 0
            return (status, headers)
        }
    }

    /// Reads the next part of the answer's body; returns `nil` at the end of the body.
    func body() throws -> Data? {
        try self.state.withLock { state in
            guard !state.isOver else { return nil }
            if state.isChunked { return try self.chunk(in: &state) }
            if state.buffer.isEmpty, try !self.receive(into: &state) {
                guard state.left ?? 0 == 0 else {
                    throw TestSupportError("the server closed the connection within its answer")
                }
                return nil
            }
            let part = state.buffer.prefix(state.left ?? .max)
            state.buffer.removeFirst(part.count)
            state.left = state.left.map { $0 - part.count }
            state.isOver = state.left == 0
            return Data(part)
        }
    }

    private func chunk(in state: inout State) throws -> Data? {
        guard let text = try self.line(in: &state, "\r\n") else { return nil }
        guard let count = Int(text, radix: 16) else {
            throw TestSupportError("the answer has an invalid chunk size: \(text)")
        }
        while state.buffer.count < count + 2 {
            guard try self.receive(into: &state) else {
                throw TestSupportError("the server closed the connection within its answer")
            }
        }
        let part = Data(state.buffer.prefix(count))
        state.buffer.removeFirst(count + 2)
        state.isOver = count == 0
        return count == 0 ? nil : part
    }

    /// Reads the text before the next `mark`; returns `nil` if the connection ended before it.
    private func line(in state: inout State, _ mark: String) throws -> String? {
        while true {
            if let range = state.buffer.range(of: Data(mark.utf8)) {
                let text = String(decoding: state.buffer[..<range.lowerBound], as: UTF8.self)
                state.buffer.removeSubrange(..<range.upperBound)
                return text
            }
            guard try self.receive(into: &state) else { return nil }
        }
    }

    private func receive(into state: inout State) throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count = -1
        repeat { count = recv(self.descriptor, &bytes, bytes.count, 0) } while count < 0 && errno == EINTR
        guard count >= 0 else {
            throw TestSupportError("no bytes arrived from the server in time: \(String(cString: strerror(errno)))")
        }
        // A new buffer, because a slice would keep its old indices.
        state.buffer = Data(state.buffer) + bytes[..<count]
        return count > 0
    }
}
