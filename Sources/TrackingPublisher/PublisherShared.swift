import TrackingCore
import TrackingRuntime

/// The part of a publisher's state that callers read on any task, and the requests that they make.
struct PublisherShared: Sendable {
    /// The trackable that was last made the active one, by ``AssetPublisher/track(_:)`` or by changing to another
    /// trackable; `nil` if it was removed since.
    var active: TrackableID?
    /// The resolution that the publisher last requested from the source of fixes; `nil` before the first request.
    var sensor: Resolution?
    /// The requests of callers that the publisher's task has not answered yet.
    var requests = PublisherRequests()
    /// `true` once the log is open and the publisher's task handles events.
    var isDeciding = false
    /// `true` after a graceful shutdown was requested. Positions that remain unsent then do not count as a failure.
    var isShuttingDown = false
    /// The number of unacknowledged records in the log when the publisher ended; 0 before.
    var recordsAtEnd = 0
    /// The publisher's present state for each tracked trackable, such as online or failed.
    private(set) var states: [TrackableID: PublisherState] = [:]
    private var failures: [TrackableID: TrackingError] = [:]
    private var warnings = WarningLimit<TrackingError.Code>()

    /// The failure of the first trackable in order of ids: the reason why its tracking failed, or why positions of it
    /// were never sent. `nil` if there is no failure.
    var failure: TrackingError? { self.failures.min { $0.key < $1.key }?.value }

    /// Stores the new state of a trackable, such as `ONLINE`, for callers. If tracking the trackable failed, also
    /// stores the reason.
    ///
    /// - Returns: `true` if the trackable is newly tracked.
    mutating func stateChanged(_ id: TrackableID, _ state: PublisherState, reason: TrackingError?) -> Bool {
        if state == .failed { self.failures[id] = reason }
        return self.states.updateValue(state, forKey: id) == nil
    }

    /// Removes the stored state and failure of a trackable that is no longer tracked.
    ///
    /// - Returns: `true` if the trackable was tracked.
    mutating func removed(_ id: TrackableID) -> Bool {
        self.failures[id] = nil
        return self.states.removeValue(forKey: id) != nil
    }

    /// Stores the error with which the publisher stops although positions of a trackable are unsent. An earlier failure
    /// of the trackable remains. Does nothing during a graceful shutdown.
    mutating func gaveUp(_ id: TrackableID, _ error: TrackingError) {
        if !self.isShuttingDown { self.failures[id] = self.failures[id] ?? error }
    }

    /// Decides if a warning about an error may be logged now, because similar warnings are limited.
    ///
    /// - Returns: The number of similar warnings that were suppressed before this one; `nil` if this one must be
    ///   suppressed too.
    mutating func mayWarn(of error: TrackingError, now: MonotonicTime) -> Int? {
        guard case .say(let suppressed) = self.warnings.happened(error.code, now: now) else { return nil }
        return suppressed
    }
}
