public import TrackingCore
import SystemLibrary
import Synchronization
import TrackingRuntime

/// A faulty or hostile broker for tests. It accepts an MQTT connection properly, and then sends the bytes that the test
/// chooses.
///
///     let broker = try LyingBroker { connection in connection == 0 ? [.send([0x32, 0x02, 0x00])] : [] }
///     // … connect to 127.0.0.1:broker.port …
///
/// The broker listens on the loopback interface. It reads at most 64 KB of a CONNECT and serves at most 64 connections
/// at a time. It stops listening when the last reference to it is released.
public final class LyingBroker: Sendable {
    /// A step that the broker takes on a connection after it has sent the CONNACK.
    public enum Step: Hashable, Sendable {
        /// The broker sends these bytes to the client at once.
        case send([UInt8])
        /// The broker sends these bytes to the client one by one, each in a TCP segment of its own.
        case sendByteByByte([UInt8])
        /// The broker waits until the client sends more bytes, and ignores them. If the client closes the connection,
        /// the remaining steps are not taken.
        case receive
        /// The broker closes the connection. Without this step, the connection stays open until the client closes it.
        case close
    }

    private static let maximumConnections = 64

    /// The port on 127.0.0.1 at which the broker accepts connections.
    public let port: Int
    private let listener: Int32
    private let open = Mutex<Set<Int32>>([])

    /// Makes a broker that listens on a free port.
    ///
    /// - Parameter steps: Returns the steps to take on a connection after the CONNACK, given the number of the
    ///   connection, from 0.
    /// - Throws: `TrackingError.Code.inputUnreadable` when the system has no port or thread left.
    public init(_ steps: @escaping @Sendable (_ connection: Int) -> [Step]) throws(TrackingError) {
        (self.listener, self.port) = try Loopback.listen()
        try Loopback.accept(from: self.listener, for: "a test broker") { [weak self] client, number in
            guard let self else { return false }
            self.serve(client, steps(number))
            return true
        }
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        for client in self.open.withLock({ $0 }) { shutdown(client, Int32(SHUT_RDWR)) }
    }

    /// Serves a client's connection on a new thread. Closes the connection at once when 64 connections are open, or
    /// when the system has no thread left.
    private func serve(_ client: Int32, _ steps: [Step]) {
        let hasRoom = self.open.withLock { open in
            open.count < Self.maximumConnections && open.insert(client).inserted
        }
        let isStarted =
            hasRoom
            && DetachedThread.start(stackSize: nil) { [weak self] in
                if let connack = Self.connack(client), Loopback.sendAll(connack[...], to: client) {
                    Self.play(steps, to: client)
                }
                // The number is removed first, because the system may reuse it as soon as the descriptor is closed.
                _ = self?.open.withLock { $0.remove(client) }
                close(client)
            }
        guard !isStarted else { return }
        self.open.withLock { _ = $0.remove(client) }
        close(client)
    }

    /// Reads the client's CONNECT and returns a CONNACK of the same MQTT version; `nil` when the CONNECT is incomplete.
    private static func connack(_ client: Int32) -> [UInt8]? {
        var received: [UInt8] = []
        while received.count < 65_536, let bytes = self.receive(client) {
            received += bytes
            // The protocol level follows the protocol name.
            let name = Array("MQTT".utf8)
            guard let start = received.indices.first(where: { received[$0...].starts(with: name) }),
                received.indices.contains(start + name.count)
            else { continue }
            return received[start + name.count] == 5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0]
        }
        return nil
    }

    private static func play(_ steps: [Step], to client: Int32) {
        for step in steps {
            switch step {
            case .send(let bytes):
                guard Loopback.sendAll(bytes[...], to: client) else { return }
            case .sendByteByByte(let bytes):
                var yes: Int32 = 1
                setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
                for byte in bytes { guard Loopback.sendAll([byte], to: client) else { return } }
            case .receive:
                guard self.receive(client) != nil else { return }
            case .close:
                return
            }
        }
        while self.receive(client) != nil {}
    }

    private static func receive(_ client: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(client, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            return count > 0 ? Array(buffer[..<count]) : nil
        }
    }
}
