private import Glibc
public import TrackingCore
import TrackingRuntime

/// Small files that are replaced as a whole: whoever reads one sees all of the old or all of the new. At the end of a link it is
/// the file there; what is no file is left alone.
public enum OwnFile {
    /// Writes a file that everyone may read, such as the metrics for node_exporter.
    ///
    /// - Throws: `inputUnreadable` that names the file.
    public static func writeShared(_ text: String, to path: String) throws(TrackingError) {
        try self.write(Array(text.utf8), to: path, mode: 0o644)
    }

    /// Writes a file that its owner alone may read, such as a password.
    ///
    /// - Throws: `inputUnreadable` that names the file.
    public static func writeSecret(_ bytes: [UInt8], to path: String) throws(TrackingError) {
        try self.write(bytes, to: path, mode: 0o600)
    }

    private static func write(_ bytes: [UInt8], to given: String, mode: mode_t) throws(TrackingError) {
        guard case .file(let path) = WriteTarget(given) else {
            throw TrackingError(.inputUnreadable, "'\(given)' is no file, which alone can be replaced; name a file")
        }
        // Beside the file, so that renaming it is one step; node_exporter reads *.prom only, and not this.
        let temporary = "\(path).\(getpid()).new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError.inputUnreadable(path, errno) }
        var isDone = fchmod(descriptor, mode) == 0
        var rest = bytes[...]
        while isDone, !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else { isDone = errno == EINTR }
        }
        isDone = isDone && fsync(descriptor) == 0
        let number = errno
        close(descriptor)
        guard isDone, rename(temporary, path) == 0 else {
            let reason = isDone ? errno : number
            unlink(temporary)
            throw SystemError.inputUnreadable(path, reason)
        }
        self.syncFolder(of: path)
    }

    /// The new name outlives a power cut as well; where a file system cannot promise that, it is as good as it gets.
    private static func syncFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
