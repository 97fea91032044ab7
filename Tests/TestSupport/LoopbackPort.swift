import Foundation
import Synchronization

/// Finds free ports on the loopback interface.
public enum LoopbackPort {
    private static let given = Mutex<Set<Int>>([])

    /// Returns a TCP port on 127.0.0.1 without a listener. One test program gets each port only once, so that a broker
    /// finds its port free after a restart.
    ///
    /// The port lies below the kernel's range for outgoing connections. A client that keeps trying a port in that range
    /// while the broker is down can connect to itself.
    public static func free() throws -> Int {
        for _ in 0..<200 {
            let port = Int.random(in: 15_000..<32_000)
            let isNew = Self.given.withLock { $0.insert(port).inserted }
            if isNew, Self.isFree(port) { return port }
        }
        throw TestSupportError("no free port on 127.0.0.1 between 15000 and 31999 after 200 tries")
    }

    /// Returns the descriptor of a socket that listens on the port of 127.0.0.1; the caller closes it.
    public static func listen(_ port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = Self.address(port)
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound, Foundation.listen(descriptor, 64) == 0 else {
            close(descriptor)
            throw TestSupportError("cannot listen on 127.0.0.1:\(port)")
        }
        return descriptor
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    /// Returns `true` if a program accepts connections on the port of 127.0.0.1.
    public static func accepts(_ port: Int) -> Bool {
        Self.withSocket { connect($0, $1, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }(port)
    }

    private static func isFree(_ port: Int) -> Bool {
        Self.withSocket { bind($0, $1, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }(port)
    }

    private static func withSocket(
        _ body: @escaping (Int32, UnsafePointer<sockaddr>) -> Bool
    ) -> (Int) -> Bool {
        { port in
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var address = Self.address(port)
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body(descriptor, $0) }
            }
        }
    }
}

/// The reason why a test could not be set up or an awaited event did not happen.
public struct TestSupportError: Error, CustomStringConvertible {
    /// The reason as text.
    public let description: String

    /// Makes an error with the reason as text.
    public init(_ description: String) { self.description = description }
}
