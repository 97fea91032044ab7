import Glibc
import TrackingCore

/// A file that is read from its beginning to its end.
final class InputFile {
    /// Its name as it was given; `-` is standard input.
    let path: String
    /// How many bytes it has; `nil` where that is not known.
    let size: Int?
    /// How many bytes were read.
    private(set) var position = 0
    private let descriptor: Int32

    private static let piece = 65_536

    /// Opens it.
    ///
    /// - Throws: `inputUnreadable` with the file's name.
    init(_ path: String) throws(TrackingError) {
        self.path = path
        self.descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard self.descriptor >= 0, fstat(self.descriptor, &status) == 0 else { throw Self.error(path) }
        self.size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    deinit { if self.path != "-", self.descriptor >= 0 { close(self.descriptor) } }

    /// The next bytes, at most 64 KiB; `nil` at the end.
    ///
    /// - Throws: `inputUnreadable` with the file's name.
    func read() throws(TrackingError) -> [UInt8]? {
        var count = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.piece) { buffer, length in
            repeat {
                count = Glibc.read(self.descriptor, buffer.baseAddress, buffer.count)
            } while count < 0 && errno == EINTR
            length = max(0, count)
        }
        guard count >= 0 else { throw Self.error(self.path) }
        self.position += count
        return count == 0 ? nil : bytes
    }

    /// The bytes of a file of settings.
    ///
    /// - Throws: `inputUnreadable` with the file's name and the reason of the system, or for more than 128 KiB.
    static func contents(of path: String) throws(TrackingError) -> [UInt8] {
        let limit = 131_072
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        while let piece = try file.read() {
            bytes += piece
            guard bytes.count <= limit else {
                throw TrackingError(.inputUnreadable, "cannot read '\(path)': it has more than \(limit) bytes")
            }
        }
        return bytes
    }

    private static func error(_ path: String) -> TrackingError {
        TrackingError(.inputUnreadable, "cannot read '\(path)': \(String(cString: strerror(errno)))")
    }
}
