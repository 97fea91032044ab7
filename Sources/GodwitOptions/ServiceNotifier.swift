private import Glibc

/// Tells the service manager how a program is: systemd's notification protocol, over the socket that it names in the
/// environment.
///
/// Telling never blocks and never fails: a program works the same where nobody listens.
public struct ServiceNotifier: Sendable {
    /// A path, or a name in the abstract namespace after `@`.
    private let address: String
    /// How often the service manager wants to hear that the program is alive; `nil` where it does not.
    public let watchdogInterval: Duration?

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`; `nil` where no service manager listens.
    public init?(environment: [String: String]) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@"),
            (2...107).contains(address.utf8.count)
        else { return nil }
        self.address = address
        let isForThisProcess = environment["WATCHDOG_PID"].map { Int32($0) == getpid() } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        self.watchdogInterval = isForThisProcess && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// The program has started, and does what it is for.
    public func ready() { self.tell("READY=1") }

    /// The program is about to end.
    public func stopping() { self.tell("STOPPING=1") }

    /// What the program is doing, in a line for people.
    public func status(_ text: String) {
        self.tell("STATUS=" + String(text.map { $0.isNewline ? " " : $0 }.prefix(200)))
    }

    /// The program is alive.
    public func watchdog() { self.tell("WATCHDOG=1") }

    /// Tells that the program is alive, twice an interval, until cancelled; returns at once where nobody wants to hear it.
    ///
    /// - Parameter check: Returns when the program has shown that it is alive; while it does not return, nothing is told.
    public func keepAlive(_ check: @Sendable () async -> Void) async {
        guard let interval = self.watchdogInterval else { return }
        while !Task.isCancelled {
            await check()
            self.watchdog()
            try? await Task.sleep(for: interval / 2)
        }
    }

    private func tell(_ message: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(self.address.utf8)
        if name[0] == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        // The length tells an abstract name from one with zeros at its end.
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count)  // a stored property
        let bytes = Array(message.utf8)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), address, length)
            }
        }
    }
}
