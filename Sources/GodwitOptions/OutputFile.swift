private import SystemLibrary
public import TrackingCore
private import TrackingRuntime

/// The file, pipe or device to which an export is written. A regular file appears under its name only once it is
/// complete. Standard output, a pipe or a device receives the bytes meanwhile, in pieces of at least 64 KiB.
public final class OutputFile {
    /// The path of the output as the user gave it; `nil` for standard output.
    private let path: String?
    /// The path of the file to replace when the output is complete, and the path of the temporary file beside it. `nil`
    /// if the output is not a regular file.
    private let replaced: (file: String, temporary: String)?
    private let descriptor: Int32
    private let draft: Draft?
    private var waiting: [UInt8] = []

    private static let piece = 65_536

    /// Opens the output of an export. ``finish()`` puts a regular file under its name; a symbolic link remains, and its
    /// target is replaced.
    ///
    /// - Parameter path: The path of the output; `-` or `nil` for standard output. Opening a named pipe waits for its
    ///   reader.
    /// - Throws: `inputUnreadable` that names the file and the cause.
    public init(_ path: String?) throws(TrackingError) {
        signal(SIGPIPE, SIG_IGN)
        let target = path.map { $0 == "-" ? .descriptor(STDOUT_FILENO) : WriteTarget($0) }
        guard let path, let target, target != .descriptor(STDOUT_FILENO) else {
            (self.path, self.replaced, self.descriptor, self.draft) = (nil, nil, STDOUT_FILENO, nil)
            return
        }
        self.path = path
        switch target {
        case .file(let file):
            let temporary = "\(file).\(getpid()).new"
            self.replaced = (file, temporary)
            self.draft = Draft(temporary)
            self.descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        case .descriptor(let number):
            (self.replaced, self.draft) = (nil, nil)
            self.descriptor = fcntl(number, F_DUPFD_CLOEXEC, 0)
        case .folder:
            throw Self.error(path, EISDIR)
        case .other:
            (self.replaced, self.draft) = (nil, nil)
            self.descriptor = open(path, O_WRONLY | O_CLOEXEC)
        }
        guard self.descriptor >= 0 else { throw Self.error(path, errno) }
    }

    deinit {
        guard self.path != nil, self.descriptor >= 0 else { return }
        close(self.descriptor)
        if let replaced = self.replaced { unlink(replaced.temporary) }
    }

    /// `true` if the output is standard output, whether it was given as `-`, `nil` or a path such as `/dev/stdout`.
    public var isStandardOutput: Bool { self.path == nil }

    /// Appends bytes to the output. Bytes are collected until there are 64 KiB, and then written.
    ///
    /// - Throws: `inputUnreadable` if a file cannot be written; ``Output/Failure`` if standard output cannot be
    ///   written.
    public func write(_ bytes: [UInt8]) throws {
        self.waiting += bytes
        if self.waiting.count >= Self.piece { try self.flush() }
    }

    /// Writes the bytes of the export that were not written yet, and completes the output. If it is a regular file, it
    /// then replaces the earlier file of the same name.
    ///
    /// - Throws: The errors of ``write(_:)``.
    public func finish() throws {
        try self.flush()
        guard let replaced = self.replaced else { return }
        guard fsync(self.descriptor) == 0, rename(replaced.temporary, replaced.file) == 0 else {
            throw Self.error(replaced.file, errno)
        }
    }

    private func flush() throws {
        let code = WholeWrite.write(self.waiting, to: self.descriptor)
        self.waiting.removeAll(keepingCapacity: true)
        guard code != 0 else { return }
        if let path = self.path { throw Self.error(path, code) }
        throw Output.Failure(code: code)
    }

    private static func error(_ path: String, _ code: Int32) -> TrackingError {
        TrackingError(
            .inputUnreadable, "cannot write '\(path)': \(String(cString: strerror(code))). Check the path and the disk")
    }
}
