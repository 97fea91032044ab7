import SystemLibrary
import TrackingCore
import TrackingRuntime

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

    /// Passes each client that connects to a listening socket to `serve`, with the clients' numbers from 0, on a thread of
    /// its own. Ends when the socket is shut down, or `serve` returns `false`, and then closes the socket.
    ///
    /// - Parameters:
    ///   - listener: The listening socket, which is closed in every case.
    ///   - server: The name of the server for the error message, such as "a test broker".
    ///   - serve: Takes the socket of a client. After `false`, that socket is closed.
    /// - Throws: `inputUnreadable` when the system has no thread left.
    static func accept(
        from listener: Int32, for server: String, _ serve: @escaping @Sendable (_ client: Int32, _ number: Int) -> Bool
    ) throws(TrackingError) {
        let isStarted = DetachedThread.start(stackSize: nil) {
            var number = 0
            while true {
                let client = SystemLibrary.accept(listener, nil, nil)
                if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
                guard client >= 0 else { break }
                guard serve(client, number) else {
                    close(client)
                    break
                }
                number += 1
            }
            close(listener)
        }
        guard isStarted else {
            close(listener)
            throw TrackingError(.inputUnreadable, "cannot start \(server): the system has no thread left")
        }
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
