import Foundation
import Synchronization

/// A serial line (a pseudo-terminal in raw mode) at whose far end the test takes the place of a receiver.
public final class PseudoTerminal: Sendable {
    /// The path of the device that the program under test opens.
    public let path: String
    private let master: Int32
    /// The program's end of the line. It is kept open here, so that the line outlives each program that opens it, and
    /// unread bytes can be counted.
    private let slave: Int32
    private let received = Mutex<[UInt8]>([])

    /// Opens a serial line.
    public init() throws {
        var ends: (Int32, Int32) = (-1, -1)
        // `ttyname` is not thread-safe.
        var name = [CChar](repeating: 0, count: 64)
        guard openpty(&ends.0, &ends.1, &name, nil, nil) == 0 else {
            throw TestSupportError("cannot open a pseudo-terminal: \(String(cString: strerror(errno)))")
        }
        (self.master, self.slave) = ends
        self.path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }  // not empty
        for end in [self.master, self.slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(self.master, F_SETFL, O_NONBLOCK)
        var settings = termios()
        tcgetattr(self.slave, &settings)
        cfmakeraw(&settings)
        tcsetattr(self.slave, TCSANOW, &settings)
    }

    deinit {
        close(self.slave)
        close(self.master)
    }

    /// Sends bytes to the program as the receiver would, and returns after the program has read them.
    ///
    /// - Throws: `TestSupportError` if the program does not read all bytes within 60 s.
    public func send(_ bytes: some Sequence<UInt8>) async throws {
        var rest = Array(bytes)[...]
        try await Self.wait("the program to read \(rest.count) bytes from the serial line") {
            if !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(self.master, $0.baseAddress, min($0.count, 2_048)) }
                if count > 0 { rest = rest.dropFirst(count) }
            }
            return rest.isEmpty && self.isRead
        }
    }

    /// Waits until the program at the other end has written this text, including text before the call.
    public func waitForCommand(_ text: String) async throws {
        try await Self.wait("the program to write '\(text)' to the receiver") { self.commands.contains(text) }
    }

    /// All bytes written to the receiver so far, as text. Invalid bytes are replaced.
    public var commands: String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = read(self.master, &buffer, buffer.count), count > 0 {
            self.received.withLock { $0 += buffer[..<count] }
        }
        return String(decoding: self.received.withLock { $0 }, as: UTF8.self)
    }

    private var isRead: Bool {
        var count: Int32 = 0
        return ioctl(self.slave, UInt(FIONREAD), &count) == 0 && count == 0
    }

    private static func wait(_ what: String, until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            guard ContinuousClock.now < deadline else { throw TestSupportError("waited 60 s in vain for \(what)") }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
