import SystemLibrary

/// A small file beside a device's log. It states that the log was closed in order, so that the log's numbered sequences
/// of records, its streams, may continue.
///
/// The file identifies the log's file by its inode, size and time of change. It therefore does not apply to a copy, a
/// restored file or a file that another program changed. A digest of the record numbers detects a log with a damaged
/// index.
///
/// The file is removed before anything is written to the log.
struct ClosingMark {
    /// The state of a log at the moment when it was closed in order: a digest of the numbers of its records.
    struct Closing: Hashable {
        /// The digest, at the log's last closing, of the numbers of the records in the log. See ``SpoolBook/digest``.
        var digest: UInt64
    }

    let log: String
    private var path: String { self.log + ".closed" }

    /// Identifies the file at a path by its inode, size and time of change. A copy has another identity than
    /// its original.
    private static func identity(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if os(Linux)
            let changed = status.st_ctim
        #else
            let changed = status.st_ctimespec
        #endif
        return "\(status.st_ino) \(status.st_size) \(changed.tv_sec).\(changed.tv_nsec)\n"
    }

    /// Writes the file which states that the log was closed in order. If it cannot be written, the log counts as not
    /// closed in order.
    func leave(_ closing: Closing) {
        // The time of change is on the disk before the mark is.
        guard Self.synchronize(self.log), let identity = Self.identity(self.log) else { return }
        let descriptor = open(self.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array("\(identity)\(closing.digest)\n".utf8)
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == bytes.count, fsync(descriptor) == 0 else {
            unlink(self.path)
            return
        }
        _ = Self.synchronize(self.folder)
    }

    /// Returns the state in which the log was closed, and deletes the file that contains it. The deletion is durable.
    ///
    /// - Returns: The state; `nil` if the log was not closed in order, is another file than the one that was closed, or
    ///   the file with the state cannot be deleted.
    func take() -> Closing? {
        let mark = Self.text(of: self.path)
        let identity = Self.identity(self.log)
        guard unlink(self.path) == 0, Self.synchronize(self.folder), let mark, let identity, mark.hasPrefix(identity)
        else { return nil }
        return UInt64(mark.dropFirst(identity.count).dropLast()).map { Closing(digest: $0) }
    }

    private var folder: String {
        guard let slash = self.log.lastIndex(of: "/") else { return "." }
        return slash == self.log.startIndex ? "/" : String(self.log[..<slash])
    }

    private static func synchronize(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }

    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
