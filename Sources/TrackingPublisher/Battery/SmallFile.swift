private import Glibc

/// Reads files of a line, which never block: those of `/sys`, and those that hold a number.
enum SmallFile {
    /// The first 256 bytes, or `nil` when it cannot be read.
    static func read(_ path: String) -> [UInt8]? {
        // Whatever it may be, it must not hold up the thread.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    /// The text without its line end, or `nil` when it cannot be read.
    static func text(_ path: String) -> String? {
        Self.read(path).map { String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) }
    }

    /// The names in a directory; none when it cannot be read.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
