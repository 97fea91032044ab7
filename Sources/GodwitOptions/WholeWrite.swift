private import SystemLibrary

/// Writes complete texts to file descriptors that may accept fewer bytes than are given.
enum WholeWrite {
    /// Writes a text to a file descriptor, and blocks until it is written.
    ///
    /// - Returns: 0, or the error number (`errno`) that ended writing.
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        self.write(Array(text.utf8), to: descriptor)
    }

    /// Writes bytes to a file descriptor, and blocks until they are written.
    ///
    /// - Returns: 0, or the error number (`errno`) that ended writing.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { SystemLibrary.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
                continue
            }
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN:
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            default: return code
            }
        }
        return 0
    }
}
