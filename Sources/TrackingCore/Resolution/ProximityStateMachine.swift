/// Decides whether a trackable is near its destination.
///
/// Near is entered when one given threshold is undercut, and left when every given one is exceeded by a tenth. The time to
/// arrival is the remaining distance over the speed of the last 30 s (path length over time); below 0.5 m/s, or unknown,
/// the temporal test keeps its last answer. Source: docs/resolution.md, "Near".
public struct ProximityStateMachine: Hashable, Sendable {
    private enum Answer: Hashable, Sendable { case below, between, above }

    private var destination: Coordinate?
    private var threshold: ProximityThreshold?
    private var recent: [Location] = []
    private var temporal: Answer?
    /// Whether it is near now.
    public private(set) var isNear = false

    static let window: Duration = .seconds(30)
    static let slowest = 0.5
    /// The most fixes of the window that are kept; a faster receiver is looked at over a shorter time.
    static let maximumFixes = 600

    /// Starts far. Without destination or threshold it is never near.
    public init(destination: Coordinate?, threshold: ProximityThreshold?) {
        self.destination = destination
        self.threshold = threshold
    }

    /// Another destination or threshold.
    ///
    /// - Returns: The new answer; `nil` when it is the same as before.
    public mutating func changed(destination: Coordinate?, threshold: ProximityThreshold?) -> Bool? {
        guard destination != self.destination || threshold != self.threshold else { return nil }
        self.destination = destination
        self.threshold = threshold
        self.temporal = nil
        let wasNear = self.isNear
        self.isNear = false
        if let last = self.recent.last { self.isNear = self.decide(last) }
        return self.isNear == wasNear ? nil : self.isNear
    }

    /// The trackable moved.
    ///
    /// - Returns: The new answer; `nil` when it is the same as before.
    public mutating func moved(_ fix: Location, now: MonotonicTime) -> Bool? {
        if let last = self.recent.last, fix.time < last.time { return nil }
        self.recent.append(fix)
        let oldest = self.recent.firstIndex { fix.time.since($0.time) <= Self.window } ?? 0
        self.recent.removeFirst(max(oldest, self.recent.count - Self.maximumFixes))
        let next = self.decide(fix)
        guard next != self.isNear else { return nil }
        self.isNear = next
        return next
    }

    private mutating func decide(_ fix: Location) -> Bool {
        guard let destination = self.destination, let threshold = self.threshold else { return false }
        let distance = fix.coordinate.distance(to: destination).value
        let spatial = threshold.spatial.map { Self.compare(distance, $0.value) }
        if let limit = threshold.temporal, let speed = self.speed {
            self.temporal = Self.compare(distance / speed, limit.inSeconds)
        }
        let answers = [spatial, threshold.temporal == nil ? nil : self.temporal].compactMap { $0 }
        if answers.contains(.below) { return true }
        return self.isNear && !(answers.allSatisfy { $0 == .above } && !answers.isEmpty)
    }

    private static func compare(_ value: Double, _ threshold: Double) -> Answer {
        if value < threshold { return .below }
        return value > threshold * 1.1 ? .above : .between
    }

    /// Path length over time in the window; `nil` when unknown or too slow to tell.
    private var speed: Double? {
        guard let first = self.recent.first, let last = self.recent.last else { return nil }
        let time = last.time.since(first.time).inSeconds
        guard time > 0 else { return nil }
        let length = zip(self.recent, self.recent.dropFirst()).reduce(0) {
            $0 + $1.0.coordinate.distance(to: $1.1.coordinate).value
        }
        let speed = length / time
        return speed >= Self.slowest ? speed : nil
    }
}
