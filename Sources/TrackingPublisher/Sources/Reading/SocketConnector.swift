private import SystemLibrary
import Synchronization
import TrackingCore
import TrackingRuntime

/// Makes TCP connections to gpsd and to servers of NMEA sentences.
enum SocketConnector {
    /// The time limit for connecting to each address of a host. Resolving the name of the host has no limit of its own.
    static let timeout: Duration = .seconds(10)

    /// A network address of the host, in the binary form of the system.
    private struct Address: Sendable {
        var family: Int32
        var bytes: [UInt8]
    }

    /// Connects to the first address of `host` that answers.
    ///
    /// - Throws: `inputUnreadable` when the host's name has no address, or no address accepts a connection in time;
    ///   `stopped` when the task was cancelled.
    static func connect(
        host: String, port: UInt16, name: String, waiter: Waiter
    ) async throws(TrackingError) -> ByteChannel {
        var failure = TrackingError(
            .inputUnreadable, "cannot connect to \(name): the host has no address. Check the host name")
        for address in try await Self.resolve(host, port, name, waiter) {
            do throws(TrackingError) {
                return try await Self.connect(address, name, waiter)
            } catch {
                if error.code == .stopped { throw error }
                failure = error
            }
        }
        throw failure
    }

    private static func connect(
        _ address: Address, _ name: String, _ waiter: Waiter
    ) async throws(TrackingError) -> ByteChannel {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw SystemError.inputUnreadable(name, errno) }
        let channel = ByteChannel(descriptor, name: name, waiter: waiter)
        Self.watchOverSilentPeers(descriptor)
        let result = address.bytes.withUnsafeBytes { bytes in
            SystemLibrary.connect(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        if result == 0 { return channel }
        guard errno == EINPROGRESS else { throw SystemError.inputUnreadable(name, errno) }
        let deadline = DeviceClock.now.advanced(by: Self.timeout)
        while true {
            let wake = await channel.wait(isWriting: true, until: deadline)
            if wake.contains(.cancelled) { throw SystemError.cancelled }
            if wake.contains(.ready) { break }
            if wake.contains(.deadline) { throw SystemError.inputUnreadable(name, ETIMEDOUT) }
        }
        let error = channel.socketError
        guard error == 0 else { throw SystemError.inputUnreadable(name, error) }
        return channel
    }

    /// Enables TCP keepalive on a socket, which detects a vanished host within half a minute. Silence alone is no sign
    /// of a fault: receivers may be silent.
    private static func watchOverSilentPeers(_ descriptor: Int32) {
        let options: [(Int32, Int32, Int32)] = [
            (SOL_SOCKET, SO_KEEPALIVE, 1), (Int32(IPPROTO_TCP), TCP_KEEPIDLE, 15),
            (Int32(IPPROTO_TCP), TCP_KEEPINTVL, 5),
            (Int32(IPPROTO_TCP), TCP_KEEPCNT, 3), (Int32(IPPROTO_TCP), TCP_NODELAY, 1),
        ]
        for (level, option, value) in options {
            var value = value
            setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// Returns the addresses of a host. The system's resolver blocks, so it runs on its own thread. A host that is
    /// given as a literal address needs no thread.
    private static func resolve(
        _ host: String, _ port: UInt16, _ name: String, _ waiter: Waiter
    ) async throws(TrackingError) -> [Address] {
        if let literal = try? Self.lookUp(host, port, flags: AI_NUMERICHOST).get() { return literal }
        let answer = Answer()
        let isStarted = DetachedThread.start {
            answer.set(Self.lookUp(host, port, flags: 0))
            waiter.signal(.ready)
        }
        guard isStarted else {
            throw TrackingError(
                .inputUnreadable,
                "cannot look up \(name): the system cannot start another thread. End other programs, or raise the limit of threads"
            )
        }
        while true {
            let wake = await waiter.next()
            if wake.contains(.cancelled) { throw SystemError.cancelled }
            switch answer.get() {
            case .success(let addresses): return addresses
            case .failure(let refusal):
                throw TrackingError(
                    .inputUnreadable,
                    "cannot find the address of \(name): \(refusal.reason). Check the host name and the network")
            case nil: continue
            }
        }
    }

    private struct Refusal: Error {
        var reason: String
    }

    private final class Answer: Sendable {
        private let value = Mutex<Result<[Address], Refusal>?>(nil)
        func set(_ result: Result<[Address], Refusal>) { self.value.withLock { $0 = result } }
        func get() -> Result<[Address], Refusal>? { self.value.withLock { $0 } }
    }

    private static func lookUp(_ host: String, _ port: UInt16, flags: Int32) -> Result<[Address], Refusal> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &list)
        guard result == 0 else { return .failure(Refusal(reason: String(cString: gai_strerror(result)))) }
        defer { freeaddrinfo(list) }
        var addresses: [Address] = []
        var next = list
        while let info = next?.pointee {
            let bytes = UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen))
            addresses.append(Address(family: info.ai_family, bytes: Array(bytes)))
            next = info.ai_next
        }
        return .success(addresses)
    }
}
