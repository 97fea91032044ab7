private import SystemLibrary

/// Reports the state of a program to the service manager, by systemd's notification protocol over the socket named in
/// the environment.
///
/// Reports never block and never fail: a program works the same without a service manager.
public struct ServiceNotifier: Sendable {
    /// The address of the socket at which the service manager, such as systemd, receives reports: the path of a file,
    /// or the character `@` and a name in the abstract namespace.
    private let address: String
    /// The time within which the service manager expects a report that the program is alive; `nil` if it expects none.
    public let watchdogInterval: Duration?

    /// Reads the service manager's socket and watchdog interval from the environment variables `NOTIFY_SOCKET`,
    /// `WATCHDOG_USEC` and `WATCHDOG_PID`. Returns `nil` if the environment names no valid socket.
    public init?(environment: [String: String]) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@"),
            (2...107).contains(address.utf8.count)
        else { return nil }
        self.address = address
        let isForThisProcess = environment["WATCHDOG_PID"].map { Int32($0) == getpid() } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        self.watchdogInterval = isForThisProcess && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Reports to the service manager that the program has started and does its work.
    public func ready() { self.send("READY=1") }

    /// Reports to the service manager that the program is about to end.
    public func stopping() { self.send("STOPPING=1") }

    /// Reports the program's current work to the service manager as one line of text for people, at most 200
    /// characters.
    public func status(_ text: String) {
        self.send("STATUS=" + String(text.map { $0.isNewline ? " " : $0 }.prefix(200)))
    }

    /// Reports to the service manager's watchdog once that the program is alive.
    public func watchdog() { self.send("WATCHDOG=1") }

    /// Reports to the service manager's watchdog that the program is alive, about twice in each watchdog interval,
    /// until the task is cancelled. Returns at once if the service manager has no watchdog.
    ///
    /// - Parameter check: A function that returns once the program has shown that it works. Each report waits for it.
    public func keepAlive(_ check: @Sendable () async -> Void) async {
        guard let interval = self.watchdogInterval else { return }
        while !Task.isCancelled {
            await check()
            self.watchdog()
            try? await Task.sleep(for: interval / 2)
        }
    }

    private func send(_ message: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(self.address.utf8)
        if name[0] == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        // An abstract socket name may end with zero bytes, so its length must be exact.
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count)  // a stored property
        let bytes = Array(message.utf8)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), address, length)
            }
        }
    }
}
