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
        /// The newest line of those that are held back, once there is one.
        var newest: String?
        var isHeld = false

        /// What is written next; `nil` when nothing waits.
        mutating func next() -> String? {
            guard !self.isHeld else {
                self.isWriting = false
                return nil
            }
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
            guard !state.isHeld else {
                state.newest = line
                return false
            }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if isIdle { self.queue.async { self.drain() } }
    }

    /// Lines wait from now on, until ``release()``.
    func hold() { self.state.withLock { $0.isHeld = true } }

    /// What waited since ``hold()`` is written, and whatever comes.
    func release() {
        let isIdle = self.state.withLock { state in
            guard state.isHeld else { return false }
            (state.isHeld, state.newest) = (false, nil)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if isIdle { self.queue.async { self.drain() } }
    }

    /// How many lines are held back, and the newest of them.
    var held: (count: Int, newest: String)? {
        self.state.withLock { state in state.newest.map { (state.waiting.count + state.lost, $0) } }
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
