import TrackingCore

/// The resolution of one trackable: the decision, the value in force, and the values that the broker and the caller
/// know.
struct TrackableResolution: Sendable {
    /// Decides the resolution from requests, constraints, proximity and battery.
    private(set) var funnel: ResolutionStateMachine
    /// The resolution in force, which changes at most once a second.
    private(set) var damper: ResolutionDamper
    /// Decides whether the trackable is near its destination.
    var proximity: ProximityStateMachine
    /// The moment at which a change takes effect or may be published; `nil` where none waits.
    var deadline: MonotonicTime?
    /// The value that was published last on this connection; `nil` where it is to be published again.
    private var published: ResolutionInForce?
    /// The value that the caller received last.
    private var delivered: ResolutionInForce?
    /// The number of publishes that are not acknowledged.
    private(set) var unacknowledged = 0
    /// The pause after the last publish on this connection.
    private var pause = ChangePause()

    /// The most publishes that may be unacknowledged. Further changes wait, and only the last of them is published.
    static let maximumUnacknowledged = 32

    /// Makes the resolution of a trackable that was not published.
    init(_ funnel: ResolutionStateMachine, of trackable: Trackable) {
        self.funnel = funnel
        self.damper = ResolutionDamper(funnel.current)
        self.proximity = ProximityStateMachine(
            destination: trackable.destination, threshold: trackable.constraints?.proximityThreshold)
    }

    /// Takes in changes of conditions; together they are one change.
    ///
    /// - Returns: The resolution that is in force from now on; `nil` where it stays.
    mutating func changed(_ changes: [ConditionChange], now: MonotonicTime) -> Resolution? {
        for change in changes { _ = self.funnel.changed(change) }
        return self.damper.decided(self.funnel.current, now: now)
    }

    /// Puts a change into force that waited for the end of the pause.
    mutating func pauseEnded(now: MonotonicTime) -> Resolution? { self.damper.timerFired(now: now) }

    /// Decides whether `inForce` is published now, and sets ``deadline``.
    ///
    /// - Parameter isSending: `true` while the trackable may be published on this connection.
    mutating func publishes(_ inForce: ResolutionInForce, isSending: Bool, now: MonotonicTime) -> Bool {
        self.deadline = self.damper.nextDeadline
        guard isSending, inForce != self.published, self.unacknowledged < Self.maximumUnacknowledged else {
            return false
        }
        guard self.pause.begin(now: now) else {
            self.deadline = .earlier(self.deadline, self.pause.end)
            return false
        }
        self.published = inForce
        self.unacknowledged += 1
        return true
    }

    /// Decides whether the caller receives `inForce`.
    mutating func delivers(_ inForce: ResolutionInForce) -> Bool {
        guard inForce != self.delivered else { return false }
        self.delivered = inForce
        return true
    }

    /// The broker acknowledged or rejected a publish.
    mutating func answered() { self.unacknowledged = max(0, self.unacknowledged - 1) }

    /// The value is published again, at the end of the pause.
    mutating func publishAgain() { self.published = nil }

    /// The connection was lost.
    mutating func connectionLost() {
        self.published = nil
        self.unacknowledged = 0
        self.pause = ChangePause()
    }
}
