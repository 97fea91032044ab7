/// Decides whether one trackable is near its destination (`docs/reference/resolution.md`, "Near").
///
/// The trackable becomes near when one given measure is below its threshold. It stops being near when every given
/// measure exceeds its threshold by more than a tenth. The time to arrival is the remaining distance divided by the
/// speed of the last 30 s. Below 0.5 m/s, or while the speed is unknown, the last result of that measure remains.
public struct ProximityStateMachine: Sendable {
    /// The relation of a measure (distance or time to arrival) to its threshold.
    private enum Standing: Sendable {
        /// The measure is below its threshold, which is sufficient for the trackable to become near.
        case inside
        /// The measure is from its threshold to a tenth above it, which is sufficient for the trackable to stay near.
        case between
        /// The measure exceeds its threshold by more than a tenth, so the trackable is not near.
        case outside

        init(_ value: Double, threshold: Double) {
            self = value < threshold ? .inside : value > threshold * 1.1 ? .outside : .between
        }
    }

    /// The minimum speed in metres a second for which a time to arrival is calculated.
    private static let leastSpeed = 0.5

    /// The trackable's destination; `nil`: the trackable is never near.
    public private(set) var destination: Coordinate?
    /// The threshold for being near; `nil`: the trackable is never near.
    public private(set) var threshold: ProximityThreshold?
    /// `true` while the trackable is near its destination.
    public private(set) var isNear = false

    private var speed = RecentSpeed()
    private var position: Coordinate?
    /// The last result of the temporal measure; `outside` before the first.
    private var temporal = Standing.outside

    /// Makes a machine without fixes. The trackable is not near.
    public init(destination: Coordinate? = nil, threshold: ProximityThreshold? = nil) {
        self.destination = destination
        self.threshold = threshold
    }

    /// Takes a fix of the source, sent or not.
    ///
    /// A fix older than the newest one is ignored. A fix that ``LivePosition`` rejects is ignored too: after a fix that
    /// is ahead of the device's clock, all following fixes would be older.
    ///
    /// - Parameters:
    ///   - fix: The fix.
    ///   - now: The time on the monotonic clock.
    ///   - wallClock: The time on the device's clock; `nil` when it is unknown or not trusted. Then no fix counts as
    ///     ahead of it.
    /// - Returns: The new value of ``isNear`` when it changed; otherwise `nil`.
    public mutating func moved(_ fix: Location, now: MonotonicTime, wallClock: UnixTime?) -> Bool? {
        if LivePosition.fault(of: fix, at: wallClock) != nil { return nil }
        guard self.speed.moved(fix, now: now) else { return nil }
        self.position = fix.coordinate
        return self.settle(self.decided())
    }

    /// Sets, changes or removes the destination and decides again from the last known position.
    ///
    /// - Returns: The new value of ``isNear`` when it changed; otherwise `nil`.
    public mutating func destinationChanged(_ destination: Coordinate?) -> Bool? {
        guard destination != self.destination else { return nil }
        self.destination = destination
        return self.decideAnew()
    }

    /// Sets, changes or removes the threshold and decides again from the last known position.
    ///
    /// - Returns: The new value of ``isNear`` when it changed; otherwise `nil`.
    public mutating func thresholdChanged(_ threshold: ProximityThreshold?) -> Bool? {
        guard threshold != self.threshold else { return nil }
        self.threshold = threshold
        return self.decideAnew()
    }

    /// Forgets the speed after the clock of the fixes was set. The speed is unknown until a new path is known.
    public mutating func clockStepped() { self.speed.reset() }

    /// Decides for a new destination or threshold, without the results for the previous one.
    private mutating func decideAnew() -> Bool? {
        let before = self.isNear
        self.temporal = .outside
        self.isNear = false
        self.isNear = self.decided()
        return self.isNear == before ? nil : self.isNear
    }

    private mutating func settle(_ isNear: Bool) -> Bool? {
        guard isNear != self.isNear else { return nil }
        self.isNear = isNear
        return isNear
    }

    private mutating func decided() -> Bool {
        guard let destination = self.destination, let threshold = self.threshold, let position = self.position else {
            return false
        }
        let distance = position.distance(to: destination).value
        var standings: [Standing] = []
        if let spatial = threshold.spatial { standings.append(Standing(distance, threshold: spatial.value)) }
        if let temporal = threshold.temporal {
            if let speed = self.speed.metersPerSecond, speed >= Self.leastSpeed {
                self.temporal = Standing(distance / speed, threshold: temporal.inSeconds)
            }
            standings.append(self.temporal)
        }
        return self.isNear ? standings.contains { $0 != .outside } : standings.contains(.inside)
    }
}
