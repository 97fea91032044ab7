import Foundation
import TestSupport
import Testing

/// A named pipe whose reading end the test holds.
final class NamedPipe {
    let path = FileManager.default.temporaryDirectory.appending(path: "godwit-pipe-\(UUID().uuidString)").path()
    private var descriptor: Int32 = -1

    init() throws {
        guard mkfifo(self.path, 0o600) == 0 else { throw TestSupportError("no pipe at \(self.path)") }
        self.descriptor = open(self.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    }

    deinit {
        self.close()
        unlink(self.path)
    }

    func close() {
        if self.descriptor >= 0 { Glibc.close(self.descriptor) }
        self.descriptor = -1
    }

    /// Waits until something was written to the pipe.
    func wait() async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while read(self.descriptor, &buffer, buffer.count) <= 0 {
            try #require(ContinuousClock.now < deadline, "nothing was written")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Fills the pipe, so that every further write blocks.
    func fill() throws {
        let writer = open(self.path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard writer >= 0 else { throw TestSupportError("\(self.path) cannot be written") }
        defer { Glibc.close(writer) }
        for size in [4_096, 1] {
            let bytes = [UInt8](repeating: 0x2E, count: size)
            while write(writer, bytes, size) > 0 {}
        }
    }
}
