import TrackingCore

/// The requests of callers for a new fix of the receiver, which is recorded and published whatever the filters decide.
struct FixRequests: Sendable {
    /// The longest time for which a request for a fix waits for the receiver: 20 s.
    static let longestWait: Duration = .seconds(20)

    /// The error for a caller that requests a fix while the publisher is off or tracks nothing.
    static var unavailable: TrackingError {
        TrackingError(
            .invalidConfiguration,
            "cannot report a position: the publisher is off, or tracks nothing. Switch it on, or add a trackable.")
    }

    /// The error of a request for which no fix arrived within ``longestWait``.
    static var timedOut: TrackingError {
        TrackingError(
            .inputUnreadable,
            "cannot report a position: no fix was recorded within \(Self.longestWait.components.seconds) s. Check the receiver, the zones and --mock"
        )
    }

    /// The error of a request that waited when the publisher was switched off.
    static var switchedOff: TrackingError {
        TrackingError(.stopped, "cannot report a position: the publisher was switched off")
    }

    private var waiting: [UInt64] = []

    /// `true` while no caller waits for a fix.
    var isEmpty: Bool { self.waiting.isEmpty }

    /// Adds a caller's request for a fix, by its number. The request waits until ``end(_:)`` is called.
    mutating func add(_ request: UInt64) { self.waiting.append(request) }

    /// Returns the actions that answer all callers that wait for a fix, and forgets their requests.
    ///
    /// - Parameter error: The reason why there is no fix; `nil` if a fix was recorded.
    mutating func end(_ error: TrackingError?) -> [PublisherStateMachine.Action] {
        defer { self.waiting = [] }
        let result: Result<PublisherStateMachine.Answer, TrackingError> =
            if let error { .failure(error) } else { .success(.reported) }
        return self.waiting.map { .answered(request: $0, result) }
    }
}
