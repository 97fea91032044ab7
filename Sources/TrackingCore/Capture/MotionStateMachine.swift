/// Determines a trackable's kind of motion: from its source, or else from its speed.
///
/// The motion changes after the speed has been above a boundary, or below it for a slower motion, by a sixth of the
/// boundary for at least ``dwell``. So neither a speed close to a boundary nor a single wrong fix makes the motion
/// alternate. For ``driveMemory`` after a fix at driving speed, only being stationary ends the driving. Durations are
/// measured by the fixes' own times.
public struct MotionStateMachine: Hashable, Sendable {
    /// The speed in metres a second below which a trackable is stationary.
    public static let stationaryBelow = 0.5
    /// The maximum speed of each kind of motion, in metres a second.
    static let fastest: [Motion: Double] = [.walking: 2.2, .running: 4.5, .cycling: 9, .driving: .infinity]
    /// The time for which the speed must indicate another motion before the motion changes.
    public static let dwell: Duration = .seconds(5)
    /// The time after the last fix at driving speed during which slower motion, except being stationary, still counts
    /// as driving. So a traffic jam does not turn a drive into a walk.
    public static let driveMemory: Duration = .seconds(120)
    /// The part of a boundary speed by which a speed must lie beyond the boundary before the motion changes: a sixth.
    private static let margin = 1.0 / 6
    /// The maximum accuracy radius, in metres, of a fix that is used to determine the motion.
    static let worstAccuracy = 200.0
    /// The time span, in seconds, over which a speed is measured when the source provides none.
    private static let window = 30.0
    /// The minimum time between the two positions from which a speed is measured, in seconds. Over a shorter time,
    /// noise would look like speed.
    private static let leastSpan = 10.0
    /// The maximum number of remembered positions.
    private static let maximumPlaces = 64

    private struct Place: Hashable, Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// A motion that the speed indicates, but not for long enough yet.
    private struct Candidate: Hashable, Sendable {
        var motion: Motion?
        var since: UnixTime
    }

    /// The use of the device, which determines the distinguished kinds of motion.
    public var activity: Activity
    /// The trackable's current kind of motion; `nil` while it is unknown or the activity has no name for it.
    public private(set) var motion: Motion?
    /// `true` after the machine has determined the motion for the first time, even if the motion has no name.
    public private(set) var isKnown = false

    private var candidate: Candidate?
    /// The time of the last fix at driving speed while the motion was driving.
    private var lastDrive: UnixTime?
    private var places: [Place] = []

    /// Makes a machine without fixes.
    public init(activity: Activity = .other) { self.activity = activity }

    /// Determines the motion from a fix, and returns the fix with the motion. A motion that the fix already contains
    /// remains in the fix and becomes the current motion.
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

    /// Handles a step of the clock: forgets all positions. The motion in force remains.
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
            // The speed of a fix applies since the previous fix.
            self.candidate = Candidate(motion: wanted, since: before?.time ?? fix.time)
        }
        if let candidate = self.candidate, fix.time.since(candidate.since) >= Self.dwell {
            self.set(wanted, at: fix.time)
        }
    }

    /// Returns `wanted`, the motion that a speed indicates, or driving while ``driveMemory`` has not passed since the
    /// last drive.
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

    /// Adds a fix to the positions of the last 30 s, and keeps the newest position before them as the start of the
    /// measurement.
    private mutating func note(_ fix: Location) {
        if let last = self.places.last, fix.time < last.time { self.clockStepped() }
        self.places.append(Place(time: fix.time, coordinate: fix.coordinate))
        let start = fix.time.seconds - Self.window
        if let kept = self.places.firstIndex(where: { $0.time.seconds > start }), kept > 1 {
            self.places.removeFirst(kept - 1)
        }
        if self.places.count > Self.maximumPlaces { self.places.removeFirst() }
    }

    /// The speed along the straight line from the oldest remembered position to the newest one, in metres a second;
    /// `nil` when the time between them is too short. The noise of a stationary receiver does not accumulate in it.
    private var netSpeed: Double? {
        guard let first = self.places.first, let last = self.places.last else { return nil }
        let seconds = last.time.since(first.time).inSeconds
        return seconds < Self.leastSpan ? nil : last.coordinate.distance(to: first.coordinate).value / seconds
    }

    /// Returns the kind of motion that a speed in metres a second indicates. Within a sixth of a boundary, the current
    /// motion remains.
    private func motion(at speed: Double) -> Motion? {
        let plain = self.plainMotion(at: speed)
        guard self.isKnown, plain != self.motion else { return plain }
        // The speed is moved towards the motion in force by the margin and compared again.
        let rank = self.rank(self.motion)
        let brought = self.rank(plain) > rank ? speed / (1 + Self.margin) : speed / (1 - Self.margin)
        return self.plainMotion(at: brought) == self.motion ? self.motion : plain
    }

    private func plainMotion(at speed: Double) -> Motion? {
        if speed < Self.stationaryBelow { return .stationary }
        let motions = self.activity.movingMotions
        return motions.first { speed <= Self.fastest[$0] ?? .infinity } ?? motions.last
    }

    /// Returns the rank of a motion by speed, slowest first. A motion without a name (`nil`) ranks just above
    /// stationary.
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
