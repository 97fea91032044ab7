/// Decides whether one trackable is near its destination. `docs/reference/resolution.md`, "Near", contains the rule.
///
/// A threshold limits the distance to the destination, the time to arrival, or both. The trackable becomes near when
/// one of these measures is below its threshold. It stops being near when every limited measure exceeds its threshold
/// by more than a tenth.
///
/// For the threshold, the time to arrival is that of an estimate along roads (``Estimate``) while a recent one is
/// known. Otherwise it is the remaining distance divided by the speed of the last 30 s. While that speed is unknown or
/// below 0.5 m/s, the last comparison of the time with its threshold stays valid. Without a destination, the arrival at
/// the next stop of the estimate is compared with the threshold.
public struct ProximityStateMachine: Sendable {
    /// The result of comparing a measure of the trackable with the threshold for that measure. A measure is the
    /// distance or the time to the destination.
    private enum Standing: Sendable {
        /// The measure, the distance or the time to the destination, is below its threshold, which is sufficient for
        /// the trackable to become near.
        case inside
        /// The measure (distance or time to the destination) is at least its threshold, and at most a tenth above it. A
        /// trackable that is near then stays near; one that is not near does not become near.
        case between
        /// The measure (distance or time to the destination) exceeds its threshold by more than a tenth. A trackable
        /// stops being near when this applies to every measure that has a threshold.
        case outside

        init(_ value: Double, threshold: Double) {
            self = value < threshold ? .inside : value > threshold * 1.1 ? .outside : .between
        }
    }

    /// The minimum speed of the trackable, in metres a second, at which its time to arrival is compared with the
    /// threshold: 0.5.
    private static let leastSpeed = 0.5

    /// The trackable's destination. Without one (`nil`), the trackable is near only by an estimate of its next arrival.
    public private(set) var destination: Coordinate?
    /// The distance or time to arrival below which the trackable is near its destination. Without a threshold (`nil`),
    /// the trackable is never near.
    public private(set) var threshold: ProximityThreshold?
    /// `true` while the trackable is near its destination.
    public private(set) var isNear = false
    /// The newest estimate of the trackable's arrivals.
    package private(set) var estimate = ArrivalEstimate()

    private var speed = RecentSpeed()
    private var arrivalSpeed = ArrivalSpeed()
    private var position: Coordinate?
    /// The last result of comparing the trackable's time to arrival with the threshold. It is `outside` (not near)
    /// before the first comparison after a change of the destination or the threshold.
    private var temporal = Standing.outside

    /// The trackable's speed during the last 30 s, in metres a second; `nil` while it is unknown or below 0.5 m/s.
    package var recentMetersPerSecond: Double? {
        self.speed.metersPerSecond.flatMap { $0 >= Self.leastSpeed ? $0 : nil }
    }

    /// The trackable's smoothed speed in metres a second, from which its time to arrival is published; `nil` while it
    /// is unknown or too low. See ``ArrivalSpeed``.
    package var arrivalMetersPerSecond: Double? { self.arrivalSpeed.metersPerSecond }

    /// Makes a machine that has received no fixes. The trackable is not near its destination.
    public init(destination: Coordinate? = nil, threshold: ProximityThreshold? = nil) {
        self.destination = destination
        self.threshold = threshold
    }

    /// Processes a new fix, and decides again whether the trackable is near its destination.
    ///
    /// A fix older than the newest one is ignored. So is a fix that cannot be a current position (``LivePosition``),
    /// such as one with a time in the future.
    ///
    /// - Parameters:
    ///   - fix: The fix, published or not.
    ///   - now: The time on the monotonic clock.
    ///   - wallClock: The time on the device's wall clock; `nil` when it is unknown or not trusted. With `nil`, no fix
    ///     is rejected for a time in the future.
    /// - Returns: The new value of ``isNear`` when it changed; otherwise `nil`.
    public mutating func moved(_ fix: Location, now: MonotonicTime, wallClock: UnixTime?) -> Bool? {
        if LivePosition.fault(of: fix, at: wallClock) != nil { return nil }
        guard self.speed.moved(fix, now: now) else { return nil }
        self.arrivalSpeed.moved(fix)
        self.position = fix.coordinate
        return self.settle(self.decided(at: wallClock))
    }

    /// Processes a new estimate of the trackable's arrivals, `nil` after it was cleared. Then decides from the last
    /// known position whether the trackable is near.
    ///
    /// - Parameters:
    ///   - estimate: The newest estimate of the arrivals; `nil` after it was cleared.
    ///   - wallClock: The time on the device's wall clock, by which the age of the estimate is determined. With `nil`,
    ///     when it is unknown or not trusted, an estimate has no effect.
    /// - Returns: The new value of ``isNear`` when it changed; otherwise `nil`.
    public mutating func estimateChanged(_ estimate: Estimate?, wallClock: UnixTime?) -> Bool? {
        self.estimate.received(estimate)
        return self.settle(self.decided(at: wallClock))
    }

    /// Sets, changes or removes the trackable's destination. Then decides from the last known position whether the
    /// trackable is near.
    ///
    /// - Parameters:
    ///   - destination: The new destination; `nil` for none.
    ///   - wallClock: The time on the device's wall clock; `nil` when it is unknown or not trusted.
    /// - Returns: The new value of ``isNear`` when it changed; otherwise `nil`.
    public mutating func destinationChanged(_ destination: Coordinate?, wallClock: UnixTime? = nil) -> Bool? {
        guard destination != self.destination else { return nil }
        self.destination = destination
        return self.decideAnew(at: wallClock)
    }

    /// Sets, changes or removes the threshold of distance and time to arrival. Then decides from the last known
    /// position whether the trackable is near.
    ///
    /// - Parameters:
    ///   - threshold: The new threshold; `nil` for none.
    ///   - wallClock: The time on the device's wall clock; `nil` when it is unknown or not trusted.
    /// - Returns: The new value of ``isNear`` when it changed; otherwise `nil`.
    public mutating func thresholdChanged(_ threshold: ProximityThreshold?, wallClock: UnixTime? = nil) -> Bool? {
        guard threshold != self.threshold else { return nil }
        self.threshold = threshold
        return self.decideAnew(at: wallClock)
    }

    /// Forgets the trackable's speed after the clock of its fixes was set. The speed is unknown until enough new fixes
    /// arrive.
    public mutating func clockStepped() {
        self.speed.reset()
        self.arrivalSpeed.reset()
    }

    /// Decides from scratch whether the trackable is near, after its destination or threshold changed. Earlier results
    /// do not count.
    private mutating func decideAnew(at wallClock: UnixTime?) -> Bool? {
        let before = self.isNear
        self.temporal = .outside
        self.isNear = false
        self.isNear = self.decided(at: wallClock)
        return self.isNear == before ? nil : self.isNear
    }

    private mutating func settle(_ isNear: Bool) -> Bool? {
        guard isNear != self.isNear else { return nil }
        self.isNear = isNear
        return isNear
    }

    private mutating func decided(at wallClock: UnixTime?) -> Bool {
        guard let threshold = self.threshold, let position = self.position else { return false }
        let distance = self.destination.map { position.distance(to: $0).value }
        var standings: [Standing] = []
        if let spatial = threshold.spatial, let distance {
            standings.append(Standing(distance, threshold: spatial.value))
        }
        if let temporal = threshold.temporal {
            if let seconds = self.secondsToArrival(distance, at: wallClock) {
                self.temporal = Standing(seconds, threshold: temporal.inSeconds)
            } else if self.destination == nil, !self.estimate.hasNextStop(at: wallClock) {
                self.temporal = .outside
            }
            standings.append(self.temporal)
        }
        return self.isNear ? standings.contains { $0 != .outside } : standings.contains(.inside)
    }

    /// Returns the time to arrival, by a valid estimate or else by the distance to the destination and the speed; `nil`
    /// when it is unknown.
    private func secondsToArrival(_ distance: Double?, at wallClock: UnixTime?) -> Double? {
        if let wallClock, let arrival = self.estimate.arrival(at: self.destination, now: wallClock) {
            return arrival.duration(from: wallClock).inSeconds
        }
        guard let distance, let speed = self.recentMetersPerSecond else { return nil }
        return distance / speed
    }
}
