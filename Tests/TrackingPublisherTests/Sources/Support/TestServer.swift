import Glibc
import TrackingRuntime
import Synchronization

@testable import TrackingPublisher

/// A TCP server for one client at a time, on a free port of the loopback. It answers by hand and logs the received
/// lines.
final class TestServer: Sendable {
    enum Event: Hashable, Sendable {
        case connected
        case line(String)
        case closed
    }

    let port: UInt16
    let log = EventLog<Event>()
    private let listener: Int32
    private let client = Mutex<Int32>(-1)

    init(port: UInt16 = 0) throws {
        self.listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(self.listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = self.listener
        self.port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                precondition(bind(listener, address, length) == 0, "cannot bind")
                precondition(listen(listener, 4) == 0)
                getsockname(listener, address, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
        precondition(DetachedThread.start { self.serve() }, "cannot start a thread")
    }

    /// Sends all of a text to the connected client. Sends nothing if no client is connected.
    func send(_ text: String) {
        self.withClient { client in
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 || errno == EINTR else { return }
                rest = rest.dropFirst(max(0, count))
            }
        }
    }

    /// Drops the client.
    func disconnect() { self.withClient { _ = shutdown($0, Int32(SHUT_RDWR)) } }

    /// Drops the client as a killed program does: later data of the client is refused.
    func reset() {
        self.withClient { client in
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            shutdown(client, Int32(SHUT_RD))
        }
    }

    /// Calls `body` with the socket of the connected client, which stays open until `body` returns. Otherwise, the
    /// system could give the number of the closed socket to the socket of another test.
    private func withClient(_ body: (Int32) -> Void) {
        self.client.withLock { if $0 >= 0 { body($0) } }
    }

    /// Stops listening and drops the client.
    func stop() {
        shutdown(self.listener, Int32(SHUT_RDWR))
        self.disconnect()
    }

    private func serve() {
        while case let client = accept(self.listener, nil, nil), client >= 0 {
            self.client.withLock { $0 = client }
            self.log.append(.connected)
            self.read(client)
            self.client.withLock { $0 = -1 }
            close(client)
            self.log.append(.closed)
        }
        close(self.listener)
    }

    private func read(_ client: Int32) {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = Glibc.read(client, &buffer, buffer.count), count > 0 {
            text += String(decoding: buffer[..<count], as: UTF8.self)
            while let end = text.firstIndex(of: "\n") {
                self.log.append(.line(String(text[..<end])))
                text.removeSubrange(...end)
            }
        }
    }
}
