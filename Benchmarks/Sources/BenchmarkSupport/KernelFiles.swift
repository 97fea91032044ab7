import Glibc

/// Reads the kernel's files about processes and memory.
public enum KernelFiles {
    /// Returns the text of a file; empty if the file cannot be read.
    public static func read(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a value of a file with lines `Name:  123 kB`, in KiB; 0 if the file has no such line.
    public static func kibibytes(_ name: String, in path: String) -> Double {
        for line in self.read(path).split(separator: "\n") where line.hasPrefix(name + ":") {
            return line.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        }
        return 0
    }

    /// Returns the processor time, in seconds, of the threads of a process that are alive.
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
