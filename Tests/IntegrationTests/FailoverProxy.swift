import Foundation
import TestSupport

/// A proxy on 127.0.0.1 that passes each connection on to the first of several servers that accepts it.
final class FailoverProxy: Sendable {
    /// The port for clients.
    let port: Int
    private let listener: Int32

    /// - Parameter servers: The ports of the servers, in the order in which they are tried.
    init(to servers: [Int]) throws {
        self.port = try LoopbackPort.free()
        self.listener = try LoopbackPort.listen(self.port)
        let listener = self.listener
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                guard let server = Self.connection(toOneOf: servers) else {
                    close(client)
                    continue
                }
                Thread.detachNewThread { Self.pass(client, server) }
            }
            close(listener)
        }
    }

    deinit { shutdown(self.listener, Int32(SHUT_RDWR)) }

    private static func connection(toOneOf servers: [Int]) -> Int32? {
        // The first element of a lazy compactMap would connect twice, and crash if the second attempt fails.
        for port in servers {
            if let connection = Self.connection(to: port) { return connection }
        }
        return nil
    }

    private static func connection(to port: Int) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Passes bytes in both directions until one side closes its connection, and then closes the other one.
    private static func pass(_ client: Int32, _ server: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var polled = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        loop: while poll(&polled, 2, -1) > 0 {
            for (index, other) in [(0, server), (1, client)] where polled[index].revents != 0 {
                let count = recv(polled[index].fd, &buffer, buffer.count, 0)
                guard count > 0 else { break loop }
                var sent = 0
                while sent < count {
                    let more = buffer[sent..<count].withUnsafeBytes {
                        send(other, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard more > 0 else { break loop }
                    sent += more
                }
            }
        }
        close(client)
        close(server)
    }
}
