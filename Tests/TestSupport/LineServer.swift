import Foundation
import Synchronization

/// A TCP server for tests that takes the place of a receiver's server or of gpsd, on a free port of 127.0.0.1. It logs
/// connections, received lines and disconnections.
public final class LineServer: Sendable {
    /// An event of the server, with the number of the connection from 1.
    public enum Event: Hashable, Sendable {
        case connected(Int)
        case line(Int, String)
        case closed(Int)
    }

    /// The port of the server on 127.0.0.1.
    public let port: Int
    /// All events of the server so far.
    public let log = EventLog<Event>()
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var open: [Int: Int32] = [:]
        var arrivals: [ContinuousClock.Instant] = []
        var welcome: String?
    }

    /// Starts to listen for connections on a free port.
    ///
    /// - Parameter welcome: The text that each new client receives; `nil` closes the client's connection at once.
    public init(welcome: String? = "") throws {
        self.port = try LoopbackPort.free()
        self.listener = try LoopbackPort.listen(self.port)
        self.state.withLock { $0.welcome = welcome }
        let listener = self.listener
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                // A client can be gone before it is accepted.
                if connection < 0, [EINTR, ECONNABORTED].contains(errno) { continue }
                guard connection >= 0, let self else { break }
                self.arrived(connection)
            }
            close(listener)
        }
    }

    deinit { self.stop() }

    /// The number of open connections.
    public var openConnections: Int { self.state.withLock { $0.open.count } }

    /// The time at which each connection was accepted, in order.
    public var arrivals: [ContinuousClock.Instant] { self.state.withLock { $0.arrivals } }

    /// Sets the text that each new client receives; `nil` closes the client's connection at once.
    public func welcome(with text: String?) { self.state.withLock { $0.welcome = text } }

    /// Sends text to every connected client.
    public func send(_ text: String) {
        self.state.withLock { state in for connection in state.open.values { Self.send(text, to: connection) } }
    }

    /// Waits until no client is connected any more.
    public func waitUntilDeserted() async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while self.openConnections > 0 {
            guard ContinuousClock.now < deadline else {
                throw TestSupportError(
                    "\(self.openConnections) connections to the test's server are still open after 60 s. Its events: \(self.log.elements)"
                )
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Closes the connections of all clients. The server goes on listening.
    public func dropEveryone() {
        self.state.withLock { state in
            for connection in state.open.values { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    /// Ends the server: closes its listener and all connections.
    public func stop() {
        shutdown(self.listener, Int32(SHUT_RDWR))
        self.dropEveryone()
    }

    private func arrived(_ connection: Int32) {
        let (number, welcome) = self.state.withLock { state in
            state.arrivals.append(.now)
            state.open[state.arrivals.count] = connection
            return (state.arrivals.count, state.welcome)
        }
        self.log.append([.connected(number)])
        if let welcome {
            Self.send(welcome, to: connection)
        } else {
            shutdown(connection, Int32(SHUT_RDWR))
        }
        Thread.detachNewThread { self.listen(number, connection) }
    }

    private static func send(_ text: String, to connection: Int32) {
        let bytes = Array(text.utf8)
        _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private func listen(_ number: Int, _ connection: Int32) {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = recv(connection, &buffer, buffer.count, 0), count > 0 {
            text += String(decoding: buffer[..<count], as: UTF8.self)
            while let end = text.firstIndex(of: "\n") {
                self.log.append([.line(number, String(text[..<end]))])
                text.removeSubrange(...end)
            }
        }
        self.state.withLock { $0.open[number] = nil }
        close(connection)
        self.log.append([.closed(number)])
    }
}
