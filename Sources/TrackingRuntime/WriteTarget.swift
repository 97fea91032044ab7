private import Glibc

/// What writing to a path leads to. Only a file can be replaced as a whole: a pipe or a device would be gone, and a link would
/// not be one any more.
public enum WriteTarget: Hashable, Sendable {
    /// A file, or nothing yet, under this path, which is no link.
    case file(String)
    /// A descriptor of this program, as `/dev/stdout` and `/dev/fd/63` are.
    case descriptor(Int32)
    case folder
    /// A pipe, a device or whatever else is there and takes bytes as it is.
    case other

    /// Looks at what is there now; links are followed.
    public init(_ path: String) {
        var path = path
        // As many links as the system itself follows.
        for _ in 0..<40 {
            if let number = Self.descriptor(path) {
                self = .descriptor(number)
                return
            }
            // What the system shows of its processes looks like links, and leads elsewhere.
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
