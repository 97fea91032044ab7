import Dispatch
private import SystemLibrary
import Synchronization
import TrackingCore
import TrackingRuntime

/// Writes lines to standard error on a thread of its own, so that a slow reader does not block the program. At most
/// 1,024 lines and 256 KiB wait to be written. Beyond that, the oldest waiting lines are dropped and counted.
final class ErrorOutput: TextOutputStream, Sendable {
    private struct State {
        var waiting = BoundedBuffer<String>(count: 1_024, bytes: 256 * 1_024)
        var lost = 0
        var isWriting = false
        /// The newest line for standard error that was held back because a table is on the terminal; `nil` if there is
        /// none.
        var newest: String?
        var isHeld = false

        /// Removes and returns the next line to write to standard error. After lines were dropped, that is first a line
        /// with their number. Returns `nil` if no line waits, or while lines are held back.
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

    /// The writer through which all parts of this process write lines to its standard error.
    static let standard = ErrorOutput(descriptor: STDERR_FILENO)

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "godwit.errors")
    private let descriptor: Int32

    /// Creates a writer of lines to a file descriptor, such as that of standard error.
    ///
    /// - Parameter descriptor: The file descriptor to write to. The caller keeps it open.
    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Adds a line to the lines that wait to be written to standard error, and returns at once. The line must include
    /// its line end.
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

    /// Holds back lines for standard error, because the terminal shows a table. ``release()`` writes them.
    func hold() { self.state.withLock { $0.isHeld = true } }

    /// Ends the holding back of lines: writes the waiting lines to standard error, and writes later lines at once.
    func release() {
        let isIdle = self.state.withLock { state in
            guard state.isHeld else { return false }
            (state.isHeld, state.newest) = (false, nil)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if isIdle { self.queue.async { self.drain() } }
    }

    /// The number of lines for standard error that are held back, and the newest of them; `nil` if there are none.
    var held: (count: Int, newest: String)? {
        self.state.withLock { state in state.newest.map { (state.waiting.count + state.lost, $0) } }
    }

    /// Blocks until the lines that wait for standard error are written, but at most for the time `limit`. Lines that
    /// are held back for a table are not written.
    func flush(within limit: Duration) {
        let isWritten = DispatchSemaphore(value: 0)
        self.queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + limit.inSeconds)
    }

    /// Writes the waiting lines to standard error. A line that cannot be written is dropped.
    private func drain() {
        while let line = self.state.withLock({ $0.next() }) { _ = WholeWrite.write(line, to: self.descriptor) }
    }
}
