private import SystemLibrary
package import TrackingCore

/// An open file, pipe, socket or serial line. One task reads and writes it without blocking its thread.
///
/// The channel is closed by ``close()``, or at the latest when it is released. It is not `Sendable`: use it only in the
/// task that opened it.
package final class ByteChannel {
    /// The result of a call of ``read(until:)``: bytes, the end of the input, news of another task, or no input in
    /// time.
    package enum Read {
        case bytes(ArraySlice<UInt8>)
        /// The input has ended.
        case end
        /// A signal from another task has woken the task that reads, for example because of a new resolution. The task
        /// must react to the signal before it reads on.
        case news
        /// The deadline that the caller set for the read has passed, and no input arrived.
        case quiet
    }

    /// The waiter through which other tasks can wake the task that reads.
    package let waiter: Waiter
    /// The name of the file, socket or serial line in error messages, as the user knows it.
    package let name: String
    private var descriptor: Int32
    private let isOwned: Bool
    /// `true` for a regular file. It is always ready, and the system cannot wait for it.
    private let isRegular: Bool
    /// `true` for a socket. Writing to a socket whose peer is gone must not end the program with a signal.
    private let isSocket: Bool
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Wraps an open file. `isOwned` is `false` for a descriptor that the channel must not close, such as standard
    /// input.
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
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The name of the file in error messages.
    /// - Throws: `inputUnreadable` when the file cannot be opened.
    package static func open(path: String, name: String) throws(TrackingError) -> ByteChannel {
        // O_NONBLOCK: opening a named pipe without a writer would block.
        let descriptor = SystemLibrary.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw SystemError.inputUnreadable(name, errno) }
        return ByteChannel(descriptor, name: name)
    }

    /// Closes the file, if the channel owns it. No other method of the channel may be called afterwards.
    package func close() {
        if self.isOwned, self.descriptor >= 0 { SystemLibrary.close(self.descriptor) }
        self.descriptor = -1
    }

    /// Waits for bytes, the end of the input, a news signal of another task, or the deadline. Returns the first of
    /// these.
    ///
    /// - Throws: `inputUnreadable` for a read error; `stopped` when the task was cancelled.
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

    /// Reads and discards the input until it ends, a read fails, another task signals news, or the task is cancelled.
    /// Then discards the bytes that have already arrived. Does nothing for a regular file.
    package func discard() async {
        guard !self.isRegular else { return }
        while case .bytes? = try? await self.read() {}
        var left: Int32 = 0
        guard ioctl(self.descriptor, UInt(FIONREAD), &left) == 0 else { return }
        while left > 0, self.isReadable {
            let count = self.buffer.withUnsafeMutableBytes {
                SystemLibrary.read(self.descriptor, $0.baseAddress, min($0.count, Int(left)))
            }
            guard count > 0 else { return }
            left -= Int32(count)
        }
    }

    /// Writes all of `bytes`, and waits while the target accepts none.
    ///
    /// - Throws: `inputUnreadable` for a write error, or when the bytes are not written within `limit`; `stopped` when
    ///   the task was cancelled.
    package func write(_ bytes: [UInt8], within limit: Duration = .seconds(5)) async throws(TrackingError) {
        let deadline = DeviceClock.now.advanced(by: limit)
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
            if wake.contains(.deadline) {
                throw TrackingError(
                    .inputUnreadable,
                    "cannot write to \(self.name): it accepted no bytes within \(limit). Check the device")
            }
        }
        if hasNews { self.waiter.signal(.news) }
    }

    private func writeNow(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { bytes in
            self.isSocket
                ? send(self.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                : SystemLibrary.write(self.descriptor, bytes.baseAddress, bytes.count)
        }
    }

    /// `true` if a read would return at once. The descriptor itself stays in blocking mode, because other processes may
    /// share it, such as standard input.
    private var isReadable: Bool {
        if self.isRegular { return true }
        var polled = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, 0) > 0
    }

    private func readNow() throws(TrackingError) -> Read? {
        let count = self.buffer.withUnsafeMutableBytes { SystemLibrary.read(self.descriptor, $0.baseAddress, $0.count) }
        if count > 0 { return .bytes(self.buffer[..<count]) }
        if count == 0 { return .end }
        guard errno == EAGAIN || errno == EINTR else { throw SystemError.inputUnreadable(self.name, errno) }
        return nil
    }

    package func wait(isWriting: Bool, until deadline: MonotonicTime?) async -> Wake {
        await self.waiter.next(until: deadline, descriptor: self.descriptor, isWriting: isWriting)
    }

    /// The time at which the file was last written, in whole seconds; `nil` if the system does not know it.
    package var modified: UnixTime? {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else { return nil }
        return UnixTime(Double(status.st_mtim.tv_sec))
    }

    /// The pending error number (`errno`) of a socket; 0 for none.
    package var socketError: Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno
    }
}
