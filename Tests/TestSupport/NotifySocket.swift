import Foundation

/// A service manager's notification socket for tests. It receives the messages of programs that run with
/// `NOTIFY_SOCKET`.
public final class NotifySocket: Sendable {
    /// The address of the socket: the value of `NOTIFY_SOCKET` for the program.
    public let name: String
    private let descriptor: Int32
    private let path: String?

    /// Opens a notification socket, as a file or in the abstract namespace.
    public init(isAbstract: Bool) throws {
        let unique = "godwit-notify-\(UUID().uuidString.prefix(12))"
        self.path = isAbstract ? nil : FileManager.default.temporaryDirectory.appending(path: unique).path()
        self.name = self.path ?? "@\(unique)"
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(self.name.utf8)
        if isAbstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let descriptor = self.descriptor
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else {
            throw TestSupportError("cannot open a notification socket: \(String(cString: strerror(errno)))")
        }
    }

    deinit {
        close(self.descriptor)
        if let path = self.path { unlink(path) }
    }

    /// Returns the next message that the program sent.
    ///
    /// - Throws: `TestSupportError` if no message arrives within 60 s.
    public func next() async throws -> String {
        let deadline = ContinuousClock.now + .seconds(60)
        var buffer = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = recv(self.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { return String(decoding: buffer[..<count], as: UTF8.self) }
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("no message arrived at the notification socket within 60 s")
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// `true` if a message of the program waits at the socket.
    public var hasMessage: Bool {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) >= 0
    }
}
