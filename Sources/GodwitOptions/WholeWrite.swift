private import Glibc

/// Writing to a descriptor that may take less than all at once.
enum WholeWrite {
    /// Writes all of a text, for as long as that takes.
    ///
    /// - Returns: 0, or the `errno` for which the rest was given up.
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        self.write(Array(text.utf8), to: descriptor)
    }

    /// Writes all of some bytes, for as long as that takes.
    ///
    /// - Returns: 0, or the `errno` for which the rest was given up.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
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
