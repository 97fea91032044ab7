import SystemLibrary
import TrackingCore

/// TCP sockets on the loopback interface, for the simulated brokers and proxies of tests.
enum Loopback {
    /// Returns a socket that listens on a free port from 15000 to 31999. Higher ports are avoided: the system may
    /// choose one of them as the local port of a client, which could then be connected to itself.
    static func listen() throws(TrackingError) -> (descriptor: Int32, port: Int) {
        for _ in 0..<200 {
            let port = Int.random(in: 15_000..<32_000)
            guard let descriptor = self.socket() else { break }
            if self.at(port, { bind(descriptor, $0, $1) }) == 0, SystemLibrary.listen(descriptor, 64) == 0 {
                return (descriptor, port)
            }
            close(descriptor)
        }
        throw TrackingError(.inputUnreadable, "cannot listen on 127.0.0.1: no port from 15000 to 31999 is free")
    }

    static func connect(to port: Int) -> Int32? {
        guard let descriptor = self.socket() else { return nil }
        if self.at(port, { SystemLibrary.connect(descriptor, $0, $1) }) == 0 {
            var yes: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            return descriptor
        }
        close(descriptor)
        return nil
    }

    static func sendAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func socket() -> Int32? {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = SystemLibrary.socket(AF_INET, type, 0)
        return descriptor >= 0 ? descriptor : nil
    }

    private static func at(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
