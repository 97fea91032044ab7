private import SystemLibrary
import TrackingCore
import TrackingRuntime

/// The local control socket of an agent: functions for its path, for listening on it and for connecting to it.
public enum ControlSocket {
    /// The largest number of bytes in the path of a control socket: 107.
    static let maximumPathBytes = 107

    /// Returns the default path of an agent's control socket: `godwit/agent.sock` in `XDG_RUNTIME_DIR` if that is set,
    /// else in `/run`.
    public static func standardPath(environment: [String: String]) -> String {
        self.candidates(environment: environment)[0]
    }

    /// Returns the paths at which a client looks for an agent's control socket, in order: that of the user's own agent,
    /// if `XDG_RUNTIME_DIR` is set, then that of the system's agent in `/run`.
    public static func candidates(environment: [String: String]) -> [String] {
        let system = "/run/godwit/agent.sock"
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return [system] }
        return ["\(folder)/godwit/agent.sock", system]
    }

    /// A listening socket of an agent. It stores the identity of its file, so that it never removes a file that another
    /// program created at the same path.
    struct Listener {
        var descriptor: Int32
        var path: String
        fileprivate var file: FileName

        /// `true` if there is no longer a file at the socket's path, so that clients can no longer find this socket.
        var isFileGone: Bool { FileName(path: self.path) == nil }

        /// Removes the file of the control socket, unless another program has created a file with the same path since.
        func removeFile() {
            if FileName(path: self.path) == self.file { unlink(self.path) }
        }
    }

    /// The identity of a file: its device and inode numbers.
    fileprivate struct FileName: Equatable {
        var device: dev_t
        var inode: ino_t
        var isSocket: Bool

        init?(path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            (self.device, self.inode) = (status.st_dev, status.st_ino)
            self.isSocket = status.st_mode & S_IFMT == S_IFSOCK
        }
    }

    /// Opens a control socket at `path` for listening; only its owner can connect. A file left by an agent that has
    /// ended is replaced, and a missing directory is created.
    ///
    /// - Throws: `invalidConfiguration` if the path cannot be used or another agent listens on it; `inputUnreadable` if
    ///   the system has no free descriptor.
    static func listen(_ path: String) throws(TrackingError) -> Listener {
        try self.check(path)
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if !folder.isEmpty, mkdir(folder, 0o700) != 0, errno != EEXIST { throw self.error(path, errno) }
        // The lock makes checking for a stale file, removing it and creating a new one a single step.
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw self.error(path, errno) }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 { guard errno == EINTR else { throw self.error(path, errno) } }
        try self.removeStale(path)
        let descriptor = try self.socket()
        do throws(TrackingError) {
            // The socket's file is created with the mode of the socket, so no other user can connect at any time.
            guard fchmod(descriptor, 0o600) == 0,
                self.withAddress(path, { SystemLibrary.bind(descriptor, $0, $1) }) == 0,
                SystemLibrary.listen(descriptor, 16) == 0
            else { throw self.error(path, errno) }
            guard let file = FileName(path: path) else { throw self.error(path, errno) }
            return Listener(descriptor: descriptor, path: path, file: file)
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func removeStale(_ path: String) throws(TrackingError) {
        guard let file = FileName(path: path) else { return }
        guard file.isSocket else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot open the control socket '\(path)': another file has this name. Give another --socket")
        }
        let probe = try self.socket()
        defer { close(probe) }
        guard self.withAddress(path, { SystemLibrary.connect(probe, $0, $1) }) != 0, errno == ECONNREFUSED else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot open the control socket: another agent listens on '\(path)'. Stop it, or give another --socket")
        }
        unlink(path)
    }

    /// Accepts the next client that waits for a connection, and returns its descriptor; a negative value, with `errno`
    /// set, if no client waits or accepting fails.
    static func accept(_ listener: Listener) -> Int32 {
        let descriptor = SystemLibrary.accept(listener.descriptor, nil, nil)
        if descriptor >= 0 {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        }
        return descriptor
    }

    /// Connects to the agent that listens on the control socket at `path`, and returns the descriptor.
    ///
    /// - Throws: `agentUnreachable` if no agent listens, or if too many clients wait; `notAuthorized` if this user may
    ///   not connect; `invalidConfiguration` for a path that is too long; `inputUnreadable` if the system has no free
    ///   descriptor.
    static func connect(_ path: String) throws(TrackingError) -> Int32 {
        try self.check(path)
        let descriptor = try self.socket()
        guard self.withAddress(path, { SystemLibrary.connect(descriptor, $0, $1) }) != 0 else { return descriptor }
        let number = errno
        close(descriptor)
        switch number {
        case EACCES, EPERM:
            throw TrackingError(
                .notAuthorized,
                "this user may not connect to the agent at '\(path)'. Run the command as the agent's user or as root")
        case EAGAIN:
            throw TrackingError(
                .agentUnreachable, "cannot connect to the agent at '\(path)': too many clients wait. Try again")
        default:
            throw TrackingError(
                .agentUnreachable,
                "no agent listens on '\(path)'. Start one with 'godwit-agent run', or name its socket with --socket")
        }
    }

    private static func socket() throws(TrackingError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = SystemLibrary.socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw SystemError.inputUnreadable("the control socket", errno) }
        return descriptor
    }

    private static func check(_ path: String) throws(TrackingError) {
        guard (1...self.maximumPathBytes).contains(path.utf8.count), !path.utf8.contains(0) else {
            throw TrackingError(
                .invalidConfiguration,
                "the path of a control socket must have 1 to \(self.maximumPathBytes) bytes, not \(path.utf8.count): '\(path)'"
            )
        }
    }

    private static func error(_ path: String, _ number: Int32) -> TrackingError {
        TrackingError(
            .invalidConfiguration,
            "cannot open the control socket '\(path)': \(SystemError.text(number)). Give another --socket")
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
