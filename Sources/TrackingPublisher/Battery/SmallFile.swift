private import SystemLibrary

/// Reads files of one line without blocking: those of `/sys`, and files that contain a number.
enum SmallFile {
    /// Returns the first 256 bytes of a file; `nil` when the file cannot be read.
    static func read(_ path: String) -> [UInt8]? {
        // The path may name a pipe or a device, which must not block the thread.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = SystemLibrary.read(descriptor, &buffer, buffer.count)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    /// Returns the first line of a file, at most 256 bytes and without its line end; `nil` when the file cannot be
    /// read.
    static func text(_ path: String) -> String? {
        Self.read(path).map { String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) }
    }

    /// Returns the names of a directory's entries, sorted and without hidden ones; none when the directory cannot be
    /// read.
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
