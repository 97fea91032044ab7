import Glibc

/// What the kernel tells of processes and of itself.
public enum KernelFiles {
    /// A file's text; empty when it cannot be read.
    public static func read(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A member of a file of lines `Name:  123 kB`, in KiB; 0 when there is none.
    public static func kibibytes(_ name: String, in path: String) -> Double {
        for line in self.read(path).split(separator: "\n") where line.hasPrefix(name + ":") {
            return line.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        }
        return 0
    }

    /// The processor time of a process, in seconds: what its threads that are alive have run.
    public static func cpuSeconds(of process: Int32) -> Double {
        guard let folder = opendir("/proc/\(process)/task") else { return 0 }
        defer { closedir(folder) }
        var nanoseconds = 0.0
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            let fields = self.read("/proc/\(process)/task/\(name)/schedstat").split(separator: " ")
            nanoseconds += fields.first.flatMap { Double($0) } ?? 0
        }
        return nanoseconds * 1e-9
    }
}
