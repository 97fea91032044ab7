package import Logging
private import Synchronization
package import TrackingCore

/// Counts the received messages that cannot be read, and logs them within the limits of ``WarningLimit``.
package final class BadMessages: Sendable {
    private struct State {
        var count = 0
        var warnings = WarningLimit<TrackingError.Code>()
    }

    private let state = Mutex(State())
    private let logger: Logger

    /// Creates a counter of unreadable messages that begins at zero and logs them to `logger`.
    package init(logger: Logger) { self.logger = logger }

    /// The number of invalid messages that were received and skipped since the program started.
    package var count: Int { self.state.withLock { $0.count } }

    /// Counts a message on `topic` that was skipped because of `error`, and logs it unless too many were logged.
    package func skipped(_ topic: String, _ error: TrackingError, now: MonotonicTime) {
        let verdict = self.state.withLock { state in
            state.count += 1
            return state.warnings.happened(error.code, now: now)
        }
        guard case .say(let suppressed) = verdict else { return }
        self.logger.warning(
            "Received message skipped: its payload cannot be read, or the program cannot accept it because of a limit. Other messages are not affected. Check the client that publishes on the topic, or follow the reason",
            metadata: ["topic": "\(topic)", "reason": "\(error)", "not logged": "\(suppressed)"])
    }
}
