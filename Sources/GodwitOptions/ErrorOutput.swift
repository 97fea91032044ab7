import Dispatch
private import Glibc
import Synchronization
import TrackingCore
import TrackingRuntime

/// Standard error, written by a thread of its own: where nobody reads it that thread waits, and nobody else has to. What waits
/// is bounded; beyond that the oldest lines make way and are counted.
final class ErrorOutput: TextOutputStream, Sendable {
    private struct State {
        var waiting = BoundedBuffer<String>(count: 1_024, bytes: 256 * 1_024)
        var lost = 0
        var isWriting = false

        /// What is written next; `nil` when nothing waits.
        mutating func next() -> String? {
            if self.lost > 0 {
                defer { self.lost = 0 }
                return "\(self.lost) lines were lost here: standard error was not read in time\n"
            }
            let line = self.waiting.popFirst()
            self.isWriting = line != nil
            return line
        }
    }

    /// Standard error of this process.
    static let standard = ErrorOutput(descriptor: STDERR_FILENO)

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "godwit.errors")
    private let descriptor: Int32

    /// - Parameter descriptor: Where lines go; whoever owns it keeps it open.
    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Takes a line, its end included; returns at once.
    func write(_ line: String) {
        let isIdle = self.state.withLock { state in
            state.lost += state.waiting.append(line, bytes: line.utf8.count)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if isIdle { self.queue.async { self.drain() } }
    }

    /// Waits until all that was taken is written, for so long at most.
    func flush(within limit: Duration) {
        let isWritten = DispatchSemaphore(value: 0)
        self.queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + limit.inSeconds)
    }

    /// A line that cannot be written at all is given up.
    private func drain() {
        while let line = self.state.withLock({ $0.next() }) { _ = WholeWrite.write(line, to: self.descriptor) }
    }
}
