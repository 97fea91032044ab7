/// Determines a trackable's kind of motion, such as walking or driving. The motion that the source reports wins;
/// otherwise the speed decides.
///
/// Each kind of motion has a range of speeds. The motion changes when the speed has been outside the range by a margin
/// (a sixth of the boundary) for ``dwell``. So a speed close to a boundary does not make the motion alternate. For
/// ``driveMemory`` after driving, slow motion still counts as driving. Durations are measured by the times of the
/// fixes.
public struct MotionStateMachine: Hashable, Sendable {
    /// The speed in metres a second below which a trackable is stationary.
    public static let stationaryBelow = 0.5
    /// The maximum speed of each kind of motion, in metres per second.
    static let fastest: [Motion: Double] = [.walking: 2.2, .running: 4.5, .cycling: 9, .driving: .infinity]
    /// The time for which the speed must indicate another motion, without interruption, before the motion changes: 5 s.
    public static let dwell: Duration = .seconds(5)
    /// The time after the last fix at driving speed in which slower motion still counts as driving: 120 s. So a traffic
    /// jam does not turn a drive into a walk. Only standing still, or a motion that the source reports, ends the drive
    /// earlier.
    public static let driveMemory: Duration = .seconds(120)
    /// The margin at a boundary between two motions, as a part of the boundary's speed: a sixth. The motion changes
    /// only when the speed lies beyond the boundary by more than this margin.
    private static let margin = 1.0 / 6
    /// The maximum accuracy radius, in metres, of a fix whose speed or position is used to determine the motion. A fix
    /// that already contains a motion is used with any accuracy.
    static let worstAccuracy = 200.0
    /// The length of the time span, in seconds, over which a speed is calculated from positions. It is used when the
    /// source reports no speed.
    private static let window = 30.0
    /// The minimum time, in seconds, between the two positions from which a speed is calculated. Over a shorter time,
    /// the noise of the positions would look like speed.
    private static let leastSpan = 10.0
    /// The maximum number of remembered positions, from which a speed is calculated.
    private static let maximumPlaces = 64

    private struct Place: Hashable, Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// A kind of motion that the speed indicates instead of the current motion, and the time since which it does so.
    /// The candidate becomes the current motion after ``dwell``.
    private struct Candidate: Hashable, Sendable {
        var motion: Motion?
        var since: UnixTime
    }

    /// The use of the device, such as driving or fitness, which determines the kinds of motion that are distinguished.
    public var activity: Activity
    /// The trackable's current kind of motion. `nil` while it is unknown, or when the trackable moves and the activity
    /// distinguishes no kinds of motion.
    public private(set) var motion: Motion?
    /// `true` after the motion has been determined for the first time, even if the trackable moves and its motion has
    /// no name.
    public private(set) var isKnown = false

    private var candidate: Candidate?
    /// The time of the last fix that indicated driving, by its speed or by the report of the source. For
    /// ``driveMemory`` after this time, slow motion counts as driving. `nil` for none.
    private var lastDrive: UnixTime?
    private var places: [Place] = []

    /// Makes a machine that determines the motion of a trackable from its fixes, for the use of the device in
    /// `activity`. It has not processed a fix yet.
    public init(activity: Activity = .other) { self.activity = activity }

    /// Determines the motion from a fix, and returns the fix with the motion. If the fix already contains a motion,
    /// that motion remains and becomes the current one.
    public mutating func label(_ fix: Location) -> Location {
        guard fix.motion.isEmpty else {
            self.set(fix.motion.contains(.stationary) ? .stationary : fix.motion[0], at: fix.time)
            self.note(fix)
            if self.motion == .driving { self.lastDrive = fix.time }
            return fix
        }
        if (fix.accuracyHorizontal ?? 0) <= Self.worstAccuracy { self.moved(fix) }
        var labelled = fix
        if let motion = self.motion { labelled.motion = [motion] }
        return labelled
    }

    /// Forgets all remembered positions and the time of the last drive, because the device's clock was set. The current
    /// motion remains.
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

    /// Returns the motion to use in place of `wanted`, the motion that the speed indicates. It is driving while
    /// ``driveMemory`` has not passed since the last drive, unless the trackable is stationary; otherwise it is
    /// `wanted`.
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

    /// Adds a fix to the remembered positions, from which a speed is calculated. Removes the positions that are older
    /// than 30 s, except the newest of them, which is the start of the measurement.
    private mutating func note(_ fix: Location) {
        if let last = self.places.last, fix.time < last.time { self.clockStepped() }
        self.places.append(Place(time: fix.time, coordinate: fix.coordinate))
        let start = fix.time.seconds - Self.window
        if let kept = self.places.firstIndex(where: { $0.time.seconds > start }), kept > 1 {
            self.places.removeFirst(kept - 1)
        }
        if self.places.count > Self.maximumPlaces { self.places.removeFirst() }
    }

    /// The speed in metres per second, calculated from the straight distance between the oldest and the newest
    /// remembered position. `nil` when the time between them is too short. Small jumps of a stationary receiver do not
    /// add up in this speed.
    private var netSpeed: Double? {
        guard let first = self.places.first, let last = self.places.last else { return nil }
        let seconds = last.time.since(first.time).inSeconds
        return seconds < Self.leastSpan ? nil : last.coordinate.distance(to: first.coordinate).value / seconds
    }

    /// Returns the kind of motion that a speed (metres per second) indicates. Within the margin at a boundary between
    /// two motions, the current motion remains.
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

    /// Returns the rank of a motion by speed: 0 for stationary, up to 4 for driving. An unnamed motion (`nil`) has the
    /// same rank as walking.
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
