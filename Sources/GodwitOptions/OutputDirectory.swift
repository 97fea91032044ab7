private import SystemLibrary
public import TrackingCore

/// The files of a directory that an export writes, one after the other. The files appear under their names only once
/// all of them are complete. Until then each is a temporary file beside its name, and only one of them is open.
public final class OutputDirectory {
    private let path: String
    private let maximumFiles: Int
    private let draft: Draft
    /// The names of the files that have a temporary file.
    private var names: Set<String> = []
    private var current: (name: String, descriptor: Int32)?
    private var waiting: [UInt8] = []

    private static let piece = 65_536

    /// Opens the directory of an export, and makes it if it does not exist.
    ///
    /// - Parameters:
    ///   - path: The path of the directory.
    ///   - maximumFiles: The largest number of files that the export may write.
    /// - Throws: `inputUnreadable` that names the directory and the cause.
    public init(_ path: String, maximumFiles: Int = 10_000) throws(TrackingError) {
        (self.path, self.maximumFiles) = (path, maximumFiles)
        self.draft = Draft(capacity: maximumFiles)
        // A path that ends with a slash must be a directory, or a link to one.
        guard mkdir(path, 0o700) == 0 || errno == EEXIST && access("\(path)/", F_OK) == 0 else {
            throw Self.error(path, errno)
        }
    }

    deinit {
        if let current = self.current { close(current.descriptor) }
        for name in self.names { unlink(self.temporary(name)) }
    }

    /// The number of files that were selected so far.
    public var count: Int { self.names.count }

    /// Selects the file to which the next bytes are appended.
    ///
    /// - Parameters:
    ///   - name: The name of the file in the directory.
    ///   - header: The first bytes of the file, which are written when it is selected for the first time.
    /// - Throws: `inputUnreadable` if a file cannot be written; `invalidConfiguration` for more files than the
    ///   directory may get.
    public func select(_ name: String, header: [UInt8]) throws(TrackingError) {
        guard self.current?.name != name else { return }
        try self.closeCurrent()
        let isNew = !self.names.contains(name)
        if isNew {
            guard self.names.count < self.maximumFiles else {
                throw TrackingError(
                    .invalidConfiguration,
                    "cannot write more than \(self.maximumFiles) files in '\(self.path)'. Select fewer days with --from and --to"
                )
            }
            self.draft.add(self.temporary(name))
            self.names.insert(name)
        }
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (isNew ? O_TRUNC : O_APPEND)
        let descriptor = open(self.temporary(name), flags, 0o600)
        guard descriptor >= 0 else { throw Self.error(self.file(name), errno) }
        self.current = (name, descriptor)
        if isNew { try self.write(header) }
    }

    /// Appends bytes to the selected file. Bytes are collected until there are 64 KiB, and then written.
    ///
    /// - Throws: `inputUnreadable` if the file cannot be written.
    public func write(_ bytes: [UInt8]) throws(TrackingError) {
        self.waiting += bytes
        if self.waiting.count >= Self.piece { try self.flush() }
    }

    /// Completes all files, and gives them their names. Each replaces the earlier file of its name. Other files of the
    /// directory remain. The modification time of each file is the time of this call.
    ///
    /// - Throws: `inputUnreadable` if a file cannot be written. The files whose names precede its name are complete
    ///   then.
    public func finish() throws(TrackingError) {
        try self.closeCurrent()
        for name in self.names.sorted() {
            // A program that converted the earlier file during the export must see that this one is newer.
            guard utimensat(AT_FDCWD, self.temporary(name), nil, AT_SYMLINK_NOFOLLOW) == 0 else {
                throw Self.error(self.file(name), errno)
            }
            try self.synchronize(self.temporary(name), O_WRONLY | O_NOFOLLOW)
            guard rename(self.temporary(name), self.file(name)) == 0 else { throw Self.error(self.file(name), errno) }
        }
        try self.synchronize(self.path, O_RDONLY | O_DIRECTORY)
    }

    private func closeCurrent() throws(TrackingError) {
        guard let current = self.current else { return }
        try self.flush()
        self.current = nil
        close(current.descriptor)
    }

    private func flush() throws(TrackingError) {
        guard let current = self.current else { return }
        let code = WholeWrite.write(self.waiting, to: current.descriptor)
        self.waiting.removeAll(keepingCapacity: true)
        guard code == 0 else { throw Self.error(self.file(current.name), code) }
    }

    /// Writes the content of a file or a directory to the disk.
    private func synchronize(_ path: String, _ flags: Int32) throws(TrackingError) {
        let descriptor = open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.error(path, errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Self.error(path, errno) }
    }

    private func file(_ name: String) -> String { "\(self.path)/\(name)" }
    private func temporary(_ name: String) -> String { "\(self.file(name)).\(getpid()).new" }

    private static func error(_ path: String, _ code: Int32) -> TrackingError {
        TrackingError(
            .inputUnreadable, "cannot write '\(path)': \(String(cString: strerror(code))). Check the path and the disk")
    }
}
