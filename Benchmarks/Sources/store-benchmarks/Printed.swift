import BenchmarkSupport
import Glibc

/// What a program printed, and what that took.
struct Printed {
    /// From the start of the program until its first byte, in seconds.
    private(set) var firstByte = 0.0
    /// From its start to its end, in seconds.
    private(set) var seconds = 0.0
    /// How much it printed.
    private(set) var bytes = 0
    /// What it had of memory at most, in MB, seen whenever something came.
    private(set) var peak = 0.0

    /// Runs a program, whose output goes through a named pipe.
    init(by program: String, _ arguments: [String], through pipe: String) throws {
        unlink(pipe)
        guard mkfifo(pipe, 0o600) == 0 else { throw BenchmarkError("\(pipe) cannot be made") }
        defer { unlink(pipe) }
        let start = secondsNow()
        let process = try ChildProcess(
            "sh", ["-c", #"pipe=$0; exec "$@" >"$pipe""#, pipe, program] + arguments, isQuiet: true)
        let descriptor = open(pipe, O_RDONLY)
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            if self.bytes == 0 { self.firstByte = secondsNow() - start }
            self.bytes += count
            self.peak = max(self.peak, KernelFiles.kibibytes("VmHWM", in: "/proc/\(process.id)/status") / 1024)
        }
        guard process.waitForEnd() == 0 else { throw BenchmarkError("\(program) failed: \(arguments)") }
        self.seconds = secondsNow() - start
    }
}
