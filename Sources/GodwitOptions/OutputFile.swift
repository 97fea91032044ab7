private import Glibc
public import TrackingCore

/// Where an export goes: a file, whole or not there; or standard output. What is written is collected in pieces of 64 KiB.
public final class OutputFile {
    private let path: String?
    private let temporary: String
    private let descriptor: Int32
    private var waiting: [UInt8] = []

    private static let piece = 65_536

    /// Opens it.
    ///
    /// - Parameter path: The file, which is replaced once all is written; `-` or `nil` for standard output.
    /// - Throws: `inputUnreadable` that names the file that cannot be made.
    public init(_ path: String?) throws(TrackingError) {
        signal(SIGPIPE, SIG_IGN)
        self.path = path == "-" ? nil : path
        self.temporary = "\(path ?? "-").\(getpid()).new"
        guard let path = self.path else {
            self.descriptor = STDOUT_FILENO
            return
        }
        self.descriptor = open(self.temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard self.descriptor >= 0 else { throw Self.error(path, errno) }
    }

    deinit {
        guard self.path != nil, self.descriptor >= 0 else { return }
        close(self.descriptor)
        unlink(self.temporary)
    }

    /// Writes bytes.
    ///
    /// - Throws: `inputUnreadable` for a file, ``Output/Failure`` for standard output.
    public func write(_ bytes: [UInt8]) throws {
        self.waiting += bytes
        if self.waiting.count >= Self.piece { try self.flush() }
    }

    /// Writes what waits, and puts the file in its place.
    ///
    /// - Throws: As ``write(_:)``.
    public func finish() throws {
        try self.flush()
        guard let path = self.path else { return }
        guard fsync(self.descriptor) == 0, rename(self.temporary, path) == 0 else { throw Self.error(path, errno) }
    }

    private func flush() throws {
        let code = WholeWrite.write(self.waiting, to: self.descriptor)
        self.waiting.removeAll(keepingCapacity: true)
        guard code != 0 else { return }
        if let path = self.path { throw Self.error(path, code) }
        throw Output.Failure(code: code)
    }

    private static func error(_ path: String, _ code: Int32) -> TrackingError {
        TrackingError(.inputUnreadable, "'\(path)' cannot be written: \(String(cString: strerror(code)))")
    }
}
