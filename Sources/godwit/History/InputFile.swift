import SystemLibrary
import TrackingCore

/// A file that is read once from its beginning to its end.
final class InputFile {
    /// The path of the file to read, as the user gave it; `-` for standard input.
    let path: String
    /// The size of the file in bytes; `nil` if it is unknown, as for a pipe.
    let size: Int?
    /// The number of bytes that were read from the file so far.
    private(set) var position = 0
    private let descriptor: Int32

    private static let piece = 65_536

    /// Opens a file, or standard input for the path `-`, to read it once.
    ///
    /// - Throws: `inputUnreadable` that names the file and the cause.
    init(_ path: String) throws(TrackingError) {
        self.path = path
        self.descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard self.descriptor >= 0, fstat(self.descriptor, &status) == 0 else { throw Self.error(path) }
        self.size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    deinit { if self.path != "-", self.descriptor >= 0 { close(self.descriptor) } }

    /// Returns the next bytes of the file, at most 64 KiB; `nil` at the end of the file.
    ///
    /// - Throws: `inputUnreadable` that names the file and the cause.
    func read() throws(TrackingError) -> [UInt8]? {
        var count = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.piece) { buffer, length in
            repeat {
                count = SystemLibrary.read(self.descriptor, buffer.baseAddress, buffer.count)
            } while count < 0 && errno == EINTR
            length = max(0, count)
        }
        guard count >= 0 else { throw Self.error(self.path) }
        self.position += count
        return count == 0 ? nil : bytes
    }

    /// Reads a small file completely, and returns its bytes.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes of the file.
    ///   - kind: The kind of file in the error message, such as "a settings file".
    /// - Throws: `inputUnreadable` that names the file and the cause, also for a file that is larger than `limit`.
    static func contents(
        of path: String, upTo limit: Int = 131_072, _ kind: String = "a settings file"
    ) throws(TrackingError) -> [UInt8] {
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        while let piece = try file.read() {
            bytes += piece
            guard bytes.count <= limit else {
                throw TrackingError(
                    .inputUnreadable,
                    "cannot read '\(path)': the file has more than \(limit) bytes, which is the limit for \(kind). Name a smaller file"
                )
            }
        }
        return bytes
    }

    private static func error(_ path: String) -> TrackingError {
        TrackingError(
            .inputUnreadable,
            "cannot read '\(path)': \(String(cString: strerror(errno))). Check the path and its permissions")
    }
}
