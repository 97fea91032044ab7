import TrackingCore

/// The resolution of one trackable: its decision, the resolution in force, and the values published and delivered last.
struct TrackableResolution: Sendable {
    /// Decides the trackable's resolution from requests, constraints, proximity and battery.
    private(set) var funnel: ResolutionStateMachine
    /// The resolution in force. It changes at most once a second.
    private(set) var damper: ResolutionDamper
    /// The resolution that the receiver needs for this trackable. It changes at most once a second.
    private var sensorDamper: ResolutionDamper
    /// The publisher's policy, which decides if the trackable has none of its own.
    private let publisherPolicy: any ResolutionPolicy
    /// The last fix of the receiver after the privacy zones were applied, recorded or not; `nil` before the first one.
    private var location: Location?
    /// Decides whether the trackable is near its destination, by its positions and the proximity threshold.
    var proximity: ProximityStateMachine
    /// Decides which remaining way to the destination (distance and time to arrival) the published resolution contains.
    private var approach = ApproachStateMachine()
    /// The next time at which a waiting change of the resolution takes effect or may be published; `nil` if no change
    /// waits.
    private(set) var deadline: MonotonicTime?
    /// The resolution in force that was published last on this connection; `nil` if none was, or if it must be
    /// published again although it has not changed.
    private var published: ResolutionInForce?
    /// The resolution, with its reasons, that was delivered last to the caller; `nil` before the first delivery.
    private var delivered: ResolutionInForce?
    /// The number of published resolutions that the broker has not acknowledged.
    private(set) var unacknowledged = 0
    /// The pause of a second after a publish of the resolution on this connection. During the pause, the resolution is
    /// published again only if the publisher's state changed.
    private var pause = ChangePause()

    /// `true` while at least one subscriber's request takes part in the decision.
    var isRequested: Bool { !self.funnel.conditions.requests.isEmpty }

    /// The largest number of published resolutions without an acknowledgement. At this number, further changes are not
    /// published; the latest of them is published after an acknowledgement.
    static let maximumUnacknowledged = 32

    /// Makes the resolution of a trackable whose tracking begins. No resolution was published or delivered yet.
    ///
    /// - Parameters:
    ///   - policy: The publisher's policy, which decides if the trackable has none of its own.
    ///   - battery: The charge of the battery in percent; `nil` is unknown.
    init(of trackable: Trackable, policy: any ResolutionPolicy, battery: Double?, _ context: TrackableContext) {
        let configuration = context.configuration
        var conditions = TrackingConditions(
            constraints: trackable.constraints, floor: trackable.floor ?? configuration.floor,
            ceiling: trackable.ceiling ?? configuration.ceiling, default: configuration.defaultResolution)
        (conditions.trackable, conditions.metadata) = (trackable.id, trackable.metadata)
        conditions.destination = trackable.destination
        conditions.situation = TrackingSituation(time: context.believedTime, isConnected: context.session.isConnected)
        var funnel = ResolutionStateMachine(policy: trackable.policy ?? policy, conditions: conditions)
        _ = funnel.changed(.batteryRead(percent: battery))
        self.funnel = funnel
        self.publisherPolicy = policy
        self.damper = ResolutionDamper(funnel.current)
        self.sensorDamper = ResolutionDamper(funnel.sensor ?? funnel.current)
        self.proximity = ProximityStateMachine(
            destination: trackable.destination, threshold: trackable.constraints?.proximityThreshold)
    }

    /// The resolution that the receiver needs for this trackable.
    var sensor: Resolution { self.sensorDamper.current }

    /// The result of the latest decision of the policy.
    struct Decision: Hashable {
        let resolution: Resolution
        let sensor: Resolution?
        let maximumSilence: Duration?
    }

    /// The latest decision of the policy. It takes effect at most once a second.
    var decision: Decision {
        Decision(
            resolution: self.funnel.current, sensor: self.funnel.sensor, maximumSilence: self.funnel.maximumSilence)
    }

    /// Handles a fix, recorded or not.
    ///
    /// - Parameters:
    ///   - fix: The fix after the privacy zones were applied.
    ///   - wallClock: The time on the device's wall clock; `nil` while it is not set.
    /// - Returns: `true` if the trackable came near its destination, `false` if it moved away from it; otherwise `nil`.
    mutating func moved(to fix: Location, now: MonotonicTime, wallClock: UnixTime?) -> Bool? {
        self.location = fix
        return self.proximity.moved(fix, now: now, wallClock: wallClock)
    }

    /// Uses the policy, the metadata, the destination and the proximity threshold of the changed trackable.
    ///
    /// - Parameter wallClock: The time on the device's wall clock; `nil` while it is not set.
    /// - Returns: The changes of the conditions, except those of the constraints and limits.
    mutating func trackableChanged(_ trackable: Trackable, wallClock: UnixTime?) -> [ConditionChange] {
        _ = self.funnel.use(trackable.policy ?? self.publisherPolicy)
        let threshold = trackable.constraints?.proximityThreshold
        let near = [
            self.proximity.destinationChanged(trackable.destination, wallClock: wallClock),
            self.proximity.thresholdChanged(threshold, wallClock: wallClock),
        ]
        return [.metadataChanged(trackable.metadata), .destinationChanged(trackable.destination)]
            + near.compactMap { $0 }.map { .nearChanged($0) }
    }

    /// Computes the remaining way to the destination for the published resolution. Called after a position was
    /// published or the destination changed.
    ///
    /// - Parameters:
    ///   - destination: The destination as it may be published; `nil` for none.
    ///   - position: The last published position, which is all that subscribers can see of the trackable.
    ///   - wallClock: The time on the device's wall clock; `nil` while it is not set.
    mutating func updateApproach(
        to destination: Coordinate?, from position: Location?, now: MonotonicTime, wallClock: UnixTime?
    ) {
        let approach = destination.map {
            Approach(
                destination: $0, from: position, speed: self.proximity.arrivalMetersPerSecond,
                arrival: self.proximity.estimate.arrival(at: $0, now: wallClock))
        }
        self.approach.updated(approach, now: now)
    }

    /// Returns the resolution in force and its reasons, as subscribers receive them.
    ///
    /// - Parameters:
    ///   - state: The state of the trackable that was delivered last to the caller.
    ///   - maximumSilence: The longest time between two updates; zero if subscribers cannot expect regular updates.
    func inForce(of trackable: Trackable, state: PublisherState, maximumSilence: Duration) -> ResolutionInForce {
        ResolutionInForce(
            resolution: self.damper.current, isNear: self.funnel.conditions.isNear,
            subscribers: self.funnel.conditions.subscribers, isLowBattery: self.funnel.isLowBattery, state: state,
            filter: trackable.filter, maximumSilence: maximumSilence, approach: self.approach.current)
    }

    /// Handles that the trackable's state is FAILED, so that the publisher can no longer publish it: a delayed change
    /// of its resolution is dropped, and ``deadline`` is `nil`.
    mutating func failed() { self.deadline = nil }

    /// Applies changes of conditions, such as requests or the battery, as one change.
    ///
    /// - Returns: The new resolution in force; `nil` if it does not change now.
    mutating func changed(_ changes: [ConditionChange], _ context: TrackableContext) -> Resolution? {
        let situation = TrackingSituation(
            location: self.location, speed: self.proximity.recentMetersPerSecond, time: context.believedTime,
            isConnected: context.session.isConnected)
        _ = self.funnel.changed(changes + [.situationChanged(situation)])
        _ = self.sensorDamper.decided(self.funnel.sensor ?? self.funnel.current, now: context.now)
        return self.damper.decided(self.funnel.current, now: context.now)
    }

    /// Puts the latest decided resolution into force, once the wait after the previous change of the resolution in
    /// force is over. Returns the new resolution in force; `nil` if it does not change.
    mutating func pauseEnded(now: MonotonicTime) -> Resolution? {
        _ = self.sensorDamper.timerFired(now: now)
        return self.damper.timerFired(now: now)
    }

    /// Returns `true` if `inForce` is to be published now; it then counts as published. `false` if it was published
    /// already, or if too many or too recent publishes precede it. Also sets ``deadline``.
    ///
    /// - Parameter isSending: `true` while the trackable may be published on this connection.
    mutating func publishes(_ inForce: ResolutionInForce, isSending: Bool, now: MonotonicTime) -> Bool {
        let damping = MonotonicTime.earlier(self.damper.nextDeadline, self.sensorDamper.nextDeadline)
        self.deadline = .earlier(damping, self.approach.nextDeadline)
        guard isSending, inForce != self.published, self.unacknowledged < Self.maximumUnacknowledged else {
            return false
        }
        let isPaused = !self.pause.begin(now: now)
        // Subscribers show the publisher's state, so a change of the state does not wait.
        let hasNewState = self.published.map { $0.state != inForce.state } ?? false
        guard !isPaused || hasNewState else {
            self.deadline = .earlier(self.deadline, self.pause.end)
            return false
        }
        self.published = inForce
        self.unacknowledged += 1
        return true
    }

    /// Returns `true` if the resolution in force differs from the one delivered last to the caller. `inForce` then
    /// counts as delivered.
    mutating func delivers(_ inForce: ResolutionInForce) -> Bool {
        guard inForce != self.delivered else { return false }
        self.delivered = inForce
        return true
    }

    /// Handles the broker's answer to a published resolution. Also after a rejection, the number of unacknowledged
    /// resolutions decreases by one.
    mutating func answered() { self.unacknowledged = max(0, self.unacknowledged - 1) }

    /// Forgets the resolution that was published last, so that the resolution in force is published again even if it
    /// has not changed.
    mutating func publishAgain() { self.published = nil }

    /// Handles that the connection was lost: the resolution is published again on the next connection.
    mutating func connectionLost() {
        self.published = nil
        self.unacknowledged = 0
        self.pause = ChangePause()
    }
}
