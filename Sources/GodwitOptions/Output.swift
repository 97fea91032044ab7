import Dispatch
private import Glibc
import Synchronization

/// Standard output, written by a thread of its own: where nobody reads it that thread waits, and nobody else has to.
public final class Output: Sendable {
    /// Standard output takes nothing any more.
    public struct Failure: Error, CustomStringConvertible {
        /// What the system says, as `errno` has it.
        public let code: Int32

        /// Whether whoever read it has closed it, as `head` does: no fault.
        public var isClosed: Bool { self.code == EPIPE }
        /// What the system says, in words.
        public var description: String { "standard output cannot be written: \(String(cString: strerror(self.code)))" }
    }

    /// Who waits for a text to be written, until it is, or until the task is cancelled.
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

    /// A closed pipe is an error from now on, and no signal.
    public init() { signal(SIGPIPE, SIG_IGN) }

    /// Writes all of a text.
    ///
    /// - Throws: ``Failure``; `CancellationError` at once when the task is cancelled, written or not.
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

    /// Writes all of a text after everything else, and gives it up where that takes longer than half a second.
    public func writeLast(_ text: String) {
        let isWritten = DispatchSemaphore(value: 0)
        self.queue.async {
            Self.writeAll(text)
            isWritten.signal()
        }
        _ = isWritten.wait(timeout: .now() + .milliseconds(500))
    }

    /// Writes all of a text, and waits for as long as that takes.
    ///
    /// - Throws: ``Failure``.
    public static func print(_ text: String) throws { try self.writeAll(text).get() }

    /// Writes all of a text, and waits for as long as that takes.
    @discardableResult
    public static func writeAll(_ text: String) -> Result<Void, any Error> {
        let code = WholeWrite.write(text, to: STDOUT_FILENO)
        return code == 0 ? .success(()) : .failure(Failure(code: code))
    }
}
