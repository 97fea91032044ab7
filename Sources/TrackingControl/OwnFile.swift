private import SystemLibrary
public import TrackingCore
import TrackingRuntime

/// Writes small files in one step: a reader sees either the complete old or the complete new content. If the path is a
/// symbolic link, its target is replaced and the link remains. Only regular files are replaced.
public enum OwnFile {
    /// Writes a file that every user may read, such as the metrics for node_exporter. An existing file is replaced in
    /// one step.
    ///
    /// - Throws: `inputUnreadable` with the name of the file.
    public static func writeShared(_ text: String, to path: String) throws(TrackingError) {
        try self.write(Array(text.utf8), to: path, mode: 0o644)
    }

    /// Writes a file that only its owner may read, such as a password. An existing file is replaced in one step.
    ///
    /// - Throws: `inputUnreadable` with the name of the file.
    public static func writeSecret(_ bytes: [UInt8], to path: String) throws(TrackingError) {
        try self.write(bytes, to: path, mode: 0o600)
    }

    private static func write(_ bytes: [UInt8], to given: String, mode: mode_t) throws(TrackingError) {
        guard case .file(let path) = WriteTarget(given) else {
            throw TrackingError(
                .inputUnreadable, "cannot write '\(given)': it is not a regular file. Name a regular file")
        }
        // The temporary file is in the same directory, so that a rename replaces the file in one step. node_exporter
        // ignores it, because it reads *.prom only.
        let temporary = "\(path).\(getpid()).new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError.inputUnreadable(path, errno) }
        var isDone = fchmod(descriptor, mode) == 0
        var rest = bytes[...]
        while isDone, !rest.isEmpty {
            let count = rest.withUnsafeBytes { SystemLibrary.write(descriptor, $0.baseAddress, $0.count) }
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

    /// Writes the directory of a new file to the disk, so that the file's name survives a power failure. Errors are
    /// ignored, because some file systems do not support this.
    private static func syncFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
