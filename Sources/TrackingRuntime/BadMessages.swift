package import Logging
private import Synchronization
package import TrackingCore

/// The messages that could not be read: all are counted, and logged as far as ``WarningLimit`` lets them.
package final class BadMessages: Sendable {
    private struct State {
        var count = 0
        var warnings = WarningLimit<TrackingError.Code>()
    }

    private let state = Mutex(State())
    private let logger: Logger

    /// There was none yet.
    package init(logger: Logger) { self.logger = logger }

    /// How many there were.
    package var count: Int { self.state.withLock { $0.count } }

    /// One more was skipped.
    package func skipped(_ topic: String, _ error: TrackingError, now: MonotonicTime) {
        let verdict = self.state.withLock { state in
            state.count += 1
            return state.warnings.happened(error.code, now: now)
        }
        guard case .say(let unsaid) = verdict else { return }
        self.logger.warning(
            "message skipped", metadata: ["topic": "\(topic)", "reason": "\(error)", "unsaid": "\(unsaid)"])
    }
}
