private import SystemLibrary

/// The kind of target to which an output path refers. Only a regular file can be replaced as a whole. To replace a
/// pipe, a device or a link would destroy it.
public enum WriteTarget: Hashable, Sendable {
    /// A regular file at this path, or a path at which no file exists yet. The path is not a link.
    case file(String)
    /// A file descriptor of this program, named by a path such as `/dev/stdout` or `/dev/fd/63`.
    case descriptor(Int32)
    case folder
    /// The output is a pipe, a device or another target to which bytes are written directly. It is not replaced by a
    /// new file.
    case other

    /// Determines the kind of target (file, open descriptor, folder or other) to which a path leads now, after
    /// following links.
    public init(_ path: String) {
        var path = path
        // The system itself follows as many links.
        for _ in 0..<40 {
            if let number = Self.descriptor(path) {
                self = .descriptor(number)
                return
            }
            // The entries below /proc appear as links, but their text does not lead to the target.
            guard !path.hasPrefix("/proc/") else { break }
            var status = stat()
            guard lstat(path, &status) == 0 else {
                self = .file(path)
                return
            }
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                self = .file(path)
                return
            case S_IFDIR:
                self = .folder
                return
            case S_IFLNK:
                guard let next = Self.destination(path) else { break }
                path = next
                continue
            default: break
            }
            break
        }
        self = .other
    }

    private static func descriptor(_ path: String) -> Int32? {
        if path == "/dev/stdout" { return STDOUT_FILENO }
        if path == "/dev/stderr" { return STDERR_FILENO }
        let folder = ["/dev/fd/", "/proc/self/fd/"].first { path.hasPrefix($0) }
        return folder.flatMap { Int32(path.dropFirst($0.count)) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    private static func destination(_ link: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let place = String(decoding: bytes.prefix(count), as: UTF8.self)
        guard !place.hasPrefix("/"), let slash = link.lastIndex(of: "/") else { return place }
        return link[...slash] + place
    }
}
