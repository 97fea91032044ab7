/// Says how the trackable moves: as its source tells, or from its speed.
///
/// A speed has to be beyond a boundary by a sixth, and to stay there for ``dwell``, before the motion changes: neither a
/// speed at a boundary nor one wild fix makes it flicker. Durations are those of the fixes' own times.
public struct MotionStateMachine: Hashable, Sendable {
    /// Below this speed, in metres a second, nothing moves.
    public static let stationaryBelow = 0.5
    /// Up to this speed, in metres a second, each moving motion goes.
    static let fastest: [Motion: Double] = [.walking: 2.2, .running: 4.5, .cycling: 9, .driving: .infinity]
    /// How long a speed must call for another motion.
    public static let dwell: Duration = .seconds(5)
    /// For so long after driving speed slower motion is driving still: lights and jams do not make a walk of a drive.
    public static let driveMemory: Duration = .seconds(120)
    /// The share of a boundary that a speed must be beyond it.
    private static let margin = 1.0 / 6
    /// A fix whose radius of accuracy is larger, in metres, says nothing about motion.
    static let worstAccuracy = 200.0
    /// How far back the place is that a speed is measured from where the source tells none, in seconds.
    private static let window = 30.0
    /// How far apart the two places must be in time, in seconds: the noise of two fixes in quick succession would be a speed.
    private static let leastSpan = 10.0
    /// The most places kept for that.
    private static let maximumPlaces = 64

    private struct Place: Hashable, Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// A motion that the speed calls for, not long enough yet.
    private struct Candidate: Hashable, Sendable {
        var motion: Motion?
        var since: UnixTime
    }

    /// The activity whose motions are told apart.
    public var activity: Activity
    /// The motion in force; `nil` while unknown, and while something moves that has no name.
    public private(set) var motion: Motion?
    /// Whether anything was decided yet.
    public private(set) var isKnown = false

    private var candidate: Candidate?
    /// When driving was last in force at driving speed.
    private var lastDrive: UnixTime?
    private var places: [Place] = []

    /// Makes a machine that was told nothing.
    public init(activity: Activity = .other) { self.activity = activity }

    /// A fix arrived: decides again, and returns it with its motion. What the source tells is left as it is, and is in force.
    public mutating func label(_ fix: Location) -> Location {
        guard fix.motion.isEmpty else {
            self.set(fix.motion.contains(.stationary) ? .stationary : fix.motion[0], at: fix.time)
            self.note(fix)
            return fix
        }
        if (fix.accuracyHorizontal ?? 0) <= Self.worstAccuracy { self.moved(fix) }
        var labelled = fix
        if let motion = self.motion { labelled.motion = [motion] }
        return labelled
    }

    /// The clock was set: times before and after cannot be compared. The motion in force stays.
    public mutating func clockStepped() {
        self.places = []
        self.candidate = nil
        self.lastDrive = nil
    }

    private mutating func moved(_ fix: Location) {
        let before = self.places.last
        self.note(fix)
        guard let speed = fix.speed ?? self.netSpeed else { return }
        let wanted = self.remembered(self.motion(at: speed), at: fix.time)
        guard self.isKnown else { return self.set(wanted, at: fix.time) }
        guard wanted != self.motion else {
            self.candidate = nil
            return
        }
        if self.candidate?.motion != wanted || self.candidate == nil {
            // What a fix tells holds since the one before it.
            self.candidate = Candidate(motion: wanted, since: before?.time ?? fix.time)
        }
        if let candidate = self.candidate, fix.time.since(candidate.since) >= Self.dwell {
            self.set(wanted, at: fix.time)
        }
    }

    /// The motion that a speed calls for, or driving where that was in force a short while ago.
    private mutating func remembered(_ wanted: Motion?, at time: UnixTime) -> Motion? {
        if wanted == .driving, self.motion == .driving { self.lastDrive = time }
        guard let lastDrive = self.lastDrive, wanted != .stationary, time.since(lastDrive) < Self.driveMemory else {
            return wanted
        }
        return .driving
    }

    private mutating func set(_ motion: Motion?, at time: UnixTime) {
        let isRemembered = self.lastDrive.map { time.since($0) < Self.driveMemory } ?? false
        if motion == .driving, !isRemembered { self.lastDrive = time }
        self.motion = motion
        self.isKnown = true
        self.candidate = nil
    }

    /// Keeps the places of the last 30 s, and the one before them.
    private mutating func note(_ fix: Location) {
        if let last = self.places.last, fix.time < last.time { self.clockStepped() }
        self.places.append(Place(time: fix.time, coordinate: fix.coordinate))
        let start = fix.time.seconds - Self.window
        if let kept = self.places.firstIndex(where: { $0.time.seconds > start }), kept > 1 {
            self.places.removeFirst(kept - 1)
        }
        if self.places.count > Self.maximumPlaces { self.places.removeFirst() }
    }

    /// The speed along the straight line, in metres a second: the noise of a receiver that stands does not add up in it.
    private var netSpeed: Double? {
        guard let first = self.places.first, let last = self.places.last else { return nil }
        let seconds = last.time.since(first.time).inSeconds
        return seconds < Self.leastSpan ? nil : last.coordinate.distance(to: first.coordinate).value / seconds
    }

    /// What a speed is called, the motion in force being given the benefit of the margin.
    private func motion(at speed: Double) -> Motion? {
        let plain = self.plainMotion(at: speed)
        guard self.isKnown, plain != self.motion else { return plain }
        // With the speed brought nearer to the motion in force, it may still be that one.
        let rank = self.rank(self.motion)
        let brought = self.rank(plain) > rank ? speed / (1 + Self.margin) : speed / (1 - Self.margin)
        return self.plainMotion(at: brought) == self.motion ? self.motion : plain
    }

    private func plainMotion(at speed: Double) -> Motion? {
        if speed < Self.stationaryBelow { return .stationary }
        let motions = self.activity.movingMotions
        return motions.first { speed <= Self.fastest[$0] ?? .infinity } ?? motions.last
    }

    /// Orders motions by speed; what moves without a name is above standing.
    private func rank(_ motion: Motion?) -> Int {
        switch motion {
        case .stationary: 0
        case nil, .walking: 1
        case .running: 2
        case .cycling: 3
        case .driving: 4
        }
    }
}
