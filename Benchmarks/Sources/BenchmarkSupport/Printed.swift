import Glibc

/// The measurements of one run of a program: its output, times and memory.
public struct Printed {
    /// The time from the start of the program until its first byte of output, in seconds.
    public private(set) var firstByte = 0.0
    /// The time from the start of the program to its end, in seconds.
    public private(set) var seconds = 0.0
    /// The number of bytes that the program printed.
    public private(set) var bytes = 0
    /// The largest resident memory of the program, in MB, checked whenever output arrives.
    public private(set) var peak = 0.0

    /// Runs a program, whose output is read through a named pipe.
    public init(by program: String, _ arguments: [String], through pipe: String) throws {
        unlink(pipe)
        guard mkfifo(pipe, 0o600) == 0 else { throw BenchmarkError("cannot create the named pipe \(pipe)") }
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
        guard process.waitForEnd() == 0 else {
            throw BenchmarkError("\(program) with the arguments \(arguments) failed")
        }
        self.seconds = secondsNow() - start
    }
}
