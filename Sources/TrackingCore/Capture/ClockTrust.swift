/// Knows the time on a device whose clock may not have been set: after booting without a battery of its own it begins in 1970.
///
/// A clock below the floor is not set. Then the receiver's time, told once, goes on with the monotonic clock; and until a
/// receiver has told it, what is stamped is marked as unknown. Order never depends on any of it: records are numbered.
public struct ClockTrust: Hashable, Sendable {
    /// What a time comes from.
    public enum Basis: String, Hashable, Sendable, CaseIterable {
        /// The device's clock.
        case clock
        /// A receiver's time and the monotonic clock since.
        case receiver
        /// The device's clock, which is not set: the time only says how long after another one something was.
        case unset
    }

    /// A moment in time and what it comes from.
    public struct Stamp: Hashable, Sendable {
        /// The time.
        public var time: UnixTime
        /// What it comes from.
        public var basis: Basis

        /// What an event says about its time: `clock` is `unset`, or nothing.
        public var detail: [String: TrackingEvent.DetailValue] {
            self.basis == .unset ? ["clock": .text(self.basis.rawValue)] : [:]
        }
    }

    /// What a receiver told, and when.
    private struct Told: Hashable, Sendable {
        let time: UnixTime
        let now: MonotonicTime
    }

    /// No device runs this version before it was made: 2026-01-01T00:00:00Z.
    public static let buildFloor = UnixTime(1_767_225_600)
    /// Where the time of GPS begins, 1980-01-06T00:00:00Z: clocks and receivers that were never set say something below it.
    public static let gpsEpoch = UnixTime(315_964_800)

    /// What the device's clock says below it is not believed.
    public let floor: UnixTime
    /// What a receiver says below it is not believed.
    public let fixFloor: UnixTime
    private var told: Told?

    /// Makes a value that was told nothing.
    public init(floor: UnixTime = ClockTrust.buildFloor, fixFloor: UnixTime = ClockTrust.buildFloor) {
        self.floor = floor
        self.fixFloor = fixFloor
    }

    /// What a receiver told `other` counts here as well.
    mutating func goOn(from other: ClockTrust) { self.told = other.told }

    /// The time of something that happens now.
    public func stamp(at moment: Moment) -> Stamp {
        if moment.wall >= self.floor { return Stamp(time: moment.wall, basis: .clock) }
        guard let told = self.told else { return Stamp(time: moment.wall, basis: .unset) }
        return Stamp(time: told.time.advanced(by: told.now.duration(to: moment.now)), basis: .receiver)
    }

    /// A fix arrived: its own time is used where it is believable. A fix whose time is not gets the best that is known, and
    /// while that is nothing it keeps its own and is marked, `"clock": "unset"` in its `extra`.
    ///
    /// Only the times of receivers are judged: recordings and other people's points keep theirs.
    public mutating func stamped(_ fix: Location, at moment: Moment) -> Location {
        guard fix.source == .gps || fix.source == .network else { return fix }
        if fix.time >= self.fixFloor {
            self.told = Told(time: fix.time, now: moment.now)
            return fix
        }
        let stamp = self.stamp(at: moment)
        var stamped = fix
        switch stamp.basis {
        case .clock, .receiver: stamped.time = stamp.time
        case .unset: stamped.addExtra([.text("clock", stamp.basis.rawValue)])
        }
        return stamped
    }
}
