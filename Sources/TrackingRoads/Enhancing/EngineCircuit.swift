import TrackingCore

/// Decides when requests are sent to the routing engine: a limited number at the same time, and none while the engine
/// is away, except a single trial after each wait.
struct EngineCircuit: Hashable, Sendable {
    /// A change in the availability of the engine.
    enum Change: Hashable, Sendable {
        /// The engine failed several times in a row. The next request is sent after the wait.
        case away(TrackingError, retry: Duration)
        /// The engine answered again. The time is that since the circuit opened.
        case back(after: Duration)
    }

    /// The maximum number of requests that wait for an answer at the same time.
    static let maximumRequests = 8
    /// The number of failures in a row after which no more requests are sent.
    static let maximumFailures = 3

    private var running = 0
    private var failures = 0
    private var openSince: MonotonicTime?
    private var retryAt: MonotonicTime?
    private var backoff = Backoff(first: .milliseconds(500), maximum: .seconds(4))

    /// `true` while the engine is away.
    var isOpen: Bool { self.openSince != nil }

    /// Returns `true` if a request may be sent now.
    func mayStart(now: MonotonicTime) -> Bool {
        guard let retryAt else { return self.running < Self.maximumRequests }
        return self.running == 0 && retryAt <= now
    }

    /// Counts a request that is sent now.
    mutating func started() { self.running += 1 }

    /// Handles that the engine answered a request.
    mutating func succeeded(now: MonotonicTime) -> Change? {
        self.running -= 1
        self.failures = 0
        self.backoff.reset()
        self.retryAt = nil
        return self.openSince.take().map { .back(after: $0.duration(to: now)) }
    }

    /// Handles that a request failed.
    mutating func failed(_ error: TrackingError, now: MonotonicTime) -> Change? {
        self.running -= 1
        self.failures += 1
        guard self.failures >= Self.maximumFailures else { return nil }
        // Requests that were sent together fail together, and count as one attempt.
        guard self.retryAt.map({ $0 <= now }) ?? true else { return nil }
        let wait = self.backoff.next()
        self.retryAt = now.advanced(by: wait)
        guard self.openSince == nil else { return nil }
        self.openSince = now
        return .away(error, retry: wait)
    }
}
