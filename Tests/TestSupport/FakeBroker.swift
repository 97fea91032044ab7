import Foundation
import Synchronization

/// A fake MQTT broker that answers each CONNECT with given bytes, for behaviour that no real broker can be configured
/// for.
public final class FakeBroker: Sendable {
    /// The fake broker's handling of a connection after its CONNECT packet.
    public enum Answer: Sendable {
        /// Send these bytes and keep the connection open.
        case send([UInt8])
        /// Send these bytes and close the connection.
        case sendAndClose([UInt8])
        /// Send these bytes. Send the second bytes once the client's DISCONNECT has arrived, and wait until the client
        /// ends its direction of the connection.
        case sendUntilDisconnect([UInt8], late: [UInt8])
        /// Send these bytes and keep the connection open. The packets of the client appear in ``packets``.
        case sendAndRead([UInt8])
        /// Keep the connection open and send nothing.
        case nothing
    }

    /// The MQTT 3.1.1 CONNACK that accepts a connection.
    public static let accepts311: [UInt8] = [0x20, 0x02, 0x00, 0x00]
    /// The MQTT 5 CONNACK that accepts a connection.
    public static let accepts5: [UInt8] = [0x20, 0x03, 0x00, 0x00, 0x00]
    /// Returns an MQTT 5 CONNACK that rejects a connection with this reason.
    public static func refuses5(_ reason: UInt8) -> [UInt8] { [0x20, 0x03, 0x00, reason, 0x00] }

    /// The port of the fake broker on 127.0.0.1.
    public let port: Int
    private let listener: Int32
    private let seen = Mutex<[UInt8]>([])
    private let open = Mutex<[Int32]>([])

    /// The MQTT protocol level of each CONNECT so far: 4 is MQTT 3.1.1, 5 is MQTT 5.
    public var levels: [UInt8] { self.seen.withLock { $0 } }

    /// The end of each connection after its DISCONNECT: 0 if the client ended its direction in order, otherwise the
    /// number of the system's error.
    public let endsAfterDisconnect = EventLog<Int32>()

    /// The packets after the CONNECT on connections whose answer is ``Answer/sendAndRead(_:)``.
    public let packets = EventLog<[UInt8]>()

    /// Starts to listen for connections on a free port.
    ///
    /// - Parameter answer: Returns the handling of the `index`-th CONNECT, from 0, with this protocol level.
    public init(_ answer: @escaping @Sendable (_ level: UInt8, _ index: Int) -> Answer) throws {
        self.port = try LoopbackPort.free()
        self.listener = try LoopbackPort.listen(self.port)
        let listener = self.listener
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self else { return }
                self.open.withLock { $0.append(connection) }
                self.serve(connection, answer)
            }
        }
    }

    deinit { self.stop() }

    /// Ends the fake broker: closes its listener and every connection.
    public func stop() {
        shutdown(self.listener, Int32(SHUT_RDWR))
        let connections = self.open.withLock { connections in
            defer { connections = [] }
            return connections
        }
        for connection in connections { Foundation.close(connection) }
        Foundation.close(self.listener)
    }

    private func serve(_ connection: Int32, _ answer: (UInt8, Int) -> Answer) {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(connection, &buffer, buffer.count, 0)
        // Fixed header (2 to 5 bytes), then the name "MQTT" with its length, then the level.
        guard count > 12, let name = buffer.prefix(count).firstRange(of: Array("MQTT".utf8)) else { return }
        let level = buffer[name.upperBound]
        let index = self.seen.withLock { seen in
            seen.append(level)
            return seen.count - 1
        }
        switch answer(level, index) {
        case .send(let bytes):
            _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        case .sendAndClose(let bytes):
            _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            self.close(connection)
        case .sendUntilDisconnect(let bytes, let late):
            _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            self.waitForEnd(of: connection, late)
            self.close(connection)
        case .sendAndRead(let bytes):
            _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            self.readPackets(of: connection)
            self.close(connection)
        case .nothing:
            break
        }
    }

    /// Reads until the client's direction has ended, and sends the late bytes after the DISCONNECT.
    private func waitForEnd(of connection: Int32, _ late: [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else {
                return self.endsAfterDisconnect.append([count == 0 ? 0 : errno])
            }
            guard buffer.prefix(count).contains(0xE0) else { continue }
            for _ in 0..<10 {
                guard Foundation.send(connection, late, late.count, Int32(MSG_NOSIGNAL)) >= 0 else {
                    return self.endsAfterDisconnect.append([errno])
                }
            }
        }
    }

    /// Reads packets of at most 127 bytes until the client's direction has ended.
    private func readPackets(of connection: Int32) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            bytes += buffer.prefix(count)
            while bytes.count >= 2, bytes.count >= Int(bytes[1]) + 2 {
                let length = Int(bytes[1]) + 2
                self.packets.append([Array(bytes.prefix(length))])
                bytes.removeFirst(length)
            }
        }
    }

    private func close(_ connection: Int32) {
        let isOurs = self.open.withLock { connections in
            connections.firstIndex(of: connection).map { connections.remove(at: $0) } != nil
        }
        if isOurs { Foundation.close(connection) }
    }
}
