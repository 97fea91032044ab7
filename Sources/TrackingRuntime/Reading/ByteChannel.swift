private import Glibc
package import TrackingCore

/// An open file, pipe, socket or serial line, read and written by one task without ever blocking its thread.
///
/// Closed by ``close()``, and at the latest when it is released. Not `Sendable`: it belongs to the task that opened it.
package final class ByteChannel {
    /// What came of waiting to read.
    package enum Read {
        case bytes(ArraySlice<UInt8>)
        /// The other end has nothing more to say.
        case end
        /// Someone signalled ``Wake/news``.
        case news
        /// Nothing came until the deadline.
        case quiet
    }

    /// Wakes the reader; give it to whoever has news for it.
    package let waiter: Waiter
    /// What the user called it, for errors.
    package let name: String
    private var descriptor: Int32
    private let isOwned: Bool
    /// Regular files are always ready, and cannot be waited for.
    private let isRegular: Bool
    /// A socket whose other end has gone must not end the program with a signal.
    private let isSocket: Bool
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Wraps an open file. `isOwned`: whether to close it, which standard input is not.
    package init(_ descriptor: Int32, name: String, waiter: Waiter = Waiter(), isOwned: Bool = true) {
        self.descriptor = descriptor
        self.name = name
        self.waiter = waiter
        self.isOwned = isOwned
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        self.isRegular = kind == S_IFREG
        self.isSocket = kind == S_IFSOCK
    }

    deinit { self.close() }

    /// Opens a file, a named pipe or a device for reading.
    package static func open(path: String, name: String) throws(TrackingError) -> ByteChannel {
        // O_NONBLOCK: a named pipe that nobody writes would hold up the open.
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw SystemError.inputUnreadable(name, errno) }
        return ByteChannel(descriptor, name: name)
    }

    /// Closes it; what comes after that is a mistake of the caller.
    package func close() {
        if self.isOwned, self.descriptor >= 0 { Glibc.close(self.descriptor) }
        self.descriptor = -1
    }

    /// Waits for bytes, an end, news or the deadline.
    ///
    /// - Throws: `inputUnreadable` when it broke, `stopped` when the task was cancelled.
    package func read(until deadline: MonotonicTime? = nil) async throws(TrackingError) -> Read {
        while true {
            if Task.isCancelled { throw SystemError.cancelled }
            if self.waiter.take(.news) { return .news }
            if self.isReadable {
                if let read = try self.readNow() { return read }
            }
            let wake = await self.wait(isWriting: false, until: deadline)
            if wake.contains(.cancelled) { throw SystemError.cancelled }
            if wake.contains(.news) { return .news }
            if wake.contains(.deadline), !wake.contains(.ready) { return .quiet }
        }
    }

    /// Passes over what comes, until it ends or the task is cancelled: all of it that is there by then. A regular file, which is
    /// no news to anybody, is left alone.
    package func discard() async {
        guard !self.isRegular else { return }
        while case .bytes? = try? await self.read() {}
        var left: Int32 = 0
        guard ioctl(self.descriptor, UInt(FIONREAD), &left) == 0 else { return }
        while left > 0, self.isReadable {
            let count = self.buffer.withUnsafeMutableBytes {
                Glibc.read(self.descriptor, $0.baseAddress, min($0.count, Int(left)))
            }
            guard count > 0 else { return }
            left -= Int32(count)
        }
    }

    /// Writes all of `bytes`, or throws `inputUnreadable` when it broke or took longer than `limit`.
    package func write(_ bytes: [UInt8], within limit: Duration = .seconds(5)) async throws(TrackingError) {
        let deadline = SourceClock.now.advanced(by: limit)
        var rest = bytes[...]
        var hasNews = false
        while !rest.isEmpty {
            let count = self.writeNow(rest)
            if count > 0 {
                rest = rest.dropFirst(count)
                continue
            }
            guard errno == EAGAIN || errno == EINTR else { throw SystemError.inputUnreadable(self.name, errno) }
            let wake = await self.wait(isWriting: true, until: deadline)
            hasNews = hasNews || wake.contains(.news)
            if wake.contains(.cancelled) { throw SystemError.cancelled }
            if wake.contains(.deadline) { throw TrackingError(.inputUnreadable, "\(self.name): takes no commands") }
        }
        if hasNews { self.waiter.signal(.news) }
    }

    private func writeNow(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { bytes in
            self.isSocket
                ? send(self.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                : Glibc.write(self.descriptor, bytes.baseAddress, bytes.count)
        }
    }

    /// Whether a read returns at once. Asked instead of making the file non-blocking, since standard input is shared with
    /// others, to whom that would happen too.
    private var isReadable: Bool {
        if self.isRegular { return true }
        var polled = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, 0) > 0
    }

    private func readNow() throws(TrackingError) -> Read? {
        let count = self.buffer.withUnsafeMutableBytes { Glibc.read(self.descriptor, $0.baseAddress, $0.count) }
        if count > 0 { return .bytes(self.buffer[..<count]) }
        if count == 0 { return .end }
        guard errno == EAGAIN || errno == EINTR else { throw SystemError.inputUnreadable(self.name, errno) }
        return nil
    }

    package func wait(isWriting: Bool, until deadline: MonotonicTime?) async -> Wake {
        self.waiter.forget([.ready, .deadline])
        let id = Poller.shared.arm(
            Poller.Interest(descriptor: self.descriptor, isWriting: isWriting, deadline: deadline), self.waiter)
        defer { Poller.shared.disarm(id) }
        return await self.waiter.next()
    }

    /// When the file was last written, where the system knows.
    package var modified: UnixTime? {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else { return nil }
        return UnixTime(Double(status.st_mtim.tv_sec))
    }

    /// The pending error of a socket, 0 when it has none.
    package var socketError: Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno
    }
}
