import Dispatch
private import SystemLibrary
import Synchronization

/// Writes text to standard output on a thread of its own, so that a slow reader does not block the program's tasks. The
/// static functions write on the calling thread instead.
public final class Output: Sendable {
    /// A failed write to standard output.
    public struct Failure: Error, CustomStringConvertible {
        /// The error number (`errno`) of the write to standard output that failed.
        public let code: Int32

        /// `true` if the write failed because the reader of standard output closed its end, as `head` does. This is not
        /// a fault.
        public var isClosed: Bool { self.code == EPIPE }
        /// The failed write to standard output as text for people: the operation and its cause.
        public var description: String { "cannot write to standard output: \(String(cString: strerror(self.code)))" }
    }

    /// The state of one call of ``Output/write(_:)``. The call waits until its text is written, or until its task is
    /// cancelled.
    private final class Receipt: Sendable {
        private enum State {
            case new
            case waiting(CheckedContinuation<Void, any Error>)
            case over(Result<Void, any Error>)
        }

        private let state = Mutex(State.new)

        func wait(_ continuation: CheckedContinuation<Void, any Error>) {
            let result = self.state.withLock { state -> Result<Void, any Error>? in
                if case .over(let result) = state { return result }
                state = .waiting(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }

        func end(_ result: Result<Void, any Error>) {
            let waiter = self.state.withLock { state -> CheckedContinuation<Void, any Error>? in
                defer { state = .over(result) }
                if case .waiting(let continuation) = state { return continuation }
                return nil
            }
            waiter?.resume(with: result)
        }
    }

    private let queue = DispatchQueue(label: "godwit.output")

    /// Creates the writer for standard output and ignores the signal SIGPIPE. Writing to a closed pipe then fails with
    /// an error, and the program is not ended by the signal.
    public init() { signal(SIGPIPE, SIG_IGN) }

    /// Writes a text to standard output, and returns when it is written.
    ///
    /// - Throws: ``Failure`` if the text cannot be written; `CancellationError` when the task is cancelled, even if the
    ///   text was or will be written.
    public func write(_ text: String) async throws {
        let receipt = Receipt()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                receipt.wait(continuation)
                self.queue.async { receipt.end(Self.writeAll(text)) }
            }
        } onCancel: {
            receipt.end(.failure(CancellationError()))
        }
    }

    /// Writes the program's last text to standard output, after the texts of earlier calls that are not written yet.
    /// Blocks for half a second at most.
    public func writeLast(_ text: String) {
        let isWritten = DispatchSemaphore(value: 0)
        self.queue.async {
            Self.writeAll(text)
            isWritten.signal()
        }
        _ = isWritten.wait(timeout: .now() + .milliseconds(500))
    }

    /// Writes a text to standard output on the calling thread, and blocks until it is written.
    ///
    /// - Throws: ``Failure`` if the text cannot be written.
    public static func print(_ text: String) throws { try self.writeAll(text).get() }

    /// Writes a text to standard output on the calling thread, and blocks until it is written.
    ///
    /// - Returns: Success, or ``Failure`` if the text could not be written.
    @discardableResult
    public static func writeAll(_ text: String) -> Result<Void, any Error> {
        let code = WholeWrite.write(text, to: STDOUT_FILENO)
        return code == 0 ? .success(()) : .failure(Failure(code: code))
    }
}
