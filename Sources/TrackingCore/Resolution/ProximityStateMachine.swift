/// Decides whether one trackable is near its destination (`docs/resolution.md`, "Near").
///
/// Near is entered when one given measure is below its threshold, and left when every given measure exceeds its threshold
/// by a tenth. The time to arrival is the remaining distance over the speed of the last 30 s; below 0.5 m/s, or while the
/// speed is unknown, that measure stands as it stood.
public struct ProximityStateMachine: Sendable {
    /// How a measure stands to its threshold.
    private enum Standing: Sendable {
        /// Below the threshold: enough to come near.
        case inside
        /// Neither: enough to stay near.
        case between
        /// Above the threshold by more than a tenth.
        case outside

        init(_ value: Double, threshold: Double) {
            self = value < threshold ? .inside : value > threshold * 1.1 ? .outside : .between
        }
    }

    /// The slowest speed, in metres a second, that tells a time to arrival.
    private static let leastSpeed = 0.5

    /// Where the trackable is going; `nil`: it is never near.
    public private(set) var destination: Coordinate?
    /// What counts as near; `nil`: it is never near.
    public private(set) var threshold: ProximityThreshold?
    /// Whether the trackable is near its destination.
    public private(set) var isNear = false

    private var speed = RecentSpeed()
    private var position: Coordinate?
    /// The last answer of the temporal measure; `outside` until there was one.
    private var temporal = Standing.outside

    /// Makes a machine for a trackable of which no fix is known yet, and which is therefore not near.
    public init(destination: Coordinate? = nil, threshold: ProximityThreshold? = nil) {
        self.destination = destination
        self.threshold = threshold
    }

    /// A fix came, sent or not. A fix older than the newest one plays no part, and neither does one that ``LivePosition`` forbids:
    /// beside one that is ahead of the device's clock all that come would be older.
    ///
    /// - Parameter wallClock: the device's clock; `nil` when it is unknown or not trusted, so that no fix is ahead of it.
    /// - Returns: whether the trackable is near now, where that changed; otherwise `nil`.
    public mutating func moved(_ fix: Location, now: MonotonicTime, wallClock: UnixTime?) -> Bool? {
        if LivePosition.fault(of: fix, at: wallClock) != nil { return nil }
        guard self.speed.moved(fix, now: now) else { return nil }
        self.position = fix.coordinate
        return self.settle(self.decided())
    }

    /// The destination was set, changed or cleared: decided anew from the last known position.
    ///
    /// - Returns: whether the trackable is near now, where that changed; otherwise `nil`.
    public mutating func destinationChanged(_ destination: Coordinate?) -> Bool? {
        guard destination != self.destination else { return nil }
        self.destination = destination
        return self.decideAnew()
    }

    /// The threshold was set, changed or cleared: decided anew from the last known position.
    ///
    /// - Returns: whether the trackable is near now, where that changed; otherwise `nil`.
    public mutating func thresholdChanged(_ threshold: ProximityThreshold?) -> Bool? {
        guard threshold != self.threshold else { return nil }
        self.threshold = threshold
        return self.decideAnew()
    }

    /// The clock that the fixes are stamped with was set: the speed is unknown until a new path is known.
    public mutating func clockStepped() { self.speed.reset() }

    /// Nothing that was said of another destination or threshold holds any more.
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
