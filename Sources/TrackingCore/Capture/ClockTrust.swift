/// Determines the time on a device whose clock may not be set. After booting without a battery-backed clock, it begins
/// in 1970.
///
/// A clock below the floor counts as not set. Then the last time of a receiver, continued with the monotonic clock, is
/// used. Before the first such time, stamps are marked as unset. The order of records does not depend on stamps,
/// because records are numbered.
public struct ClockTrust: Hashable, Sendable {
    /// The origin of a time.
    public enum Basis: String, Hashable, Sendable, CaseIterable {
        /// The device's clock.
        case clock
        /// A receiver's time, continued with the monotonic clock.
        case receiver
        /// The device's clock while it is not set. Such times are only useful relative to each other.
        case unset
    }

    /// A time and its origin.
    public struct Stamp: Hashable, Sendable {
        /// The time.
        public var time: UnixTime
        /// The origin of the time.
        public var basis: Basis

        /// The members to add to the detail of an event with this time: `"clock": "unset"` when the clock was not set,
        /// otherwise none.
        public var detail: [String: TrackingEvent.DetailValue] {
            self.basis == .unset ? ["clock": .text(self.basis.rawValue)] : [:]
        }
    }

    /// A time of a receiver, and the monotonic time of its arrival.
    private struct ReceiverTime: Hashable, Sendable {
        let time: UnixTime
        let now: MonotonicTime
    }

    /// The earliest time at which a device can run this version: 2026-01-01T00:00:00Z.
    public static let buildFloor = UnixTime(1_767_225_600)
    /// The origin of GPS time, 1980-01-06T00:00:00Z. Clocks and receivers that were never set report earlier times.
    public static let gpsEpoch = UnixTime(315_964_800)

    /// The time below which the device's clock counts as not set.
    public let floor: UnixTime
    /// The time below which a receiver's time counts as wrong.
    public let fixFloor: UnixTime
    private var receiverTime: ReceiverTime?

    /// Makes a value that knows no time of a receiver yet.
    public init(floor: UnixTime = ClockTrust.buildFloor, fixFloor: UnixTime = ClockTrust.buildFloor) {
        self.floor = floor
        self.fixFloor = fixFloor
    }

    /// Copies the last time of a receiver from the value that this value replaces.
    mutating func goOn(from other: ClockTrust) { self.receiverTime = other.receiverTime }

    /// Returns the best known time for an event that happens at `moment`, with the origin of the time.
    public func stamp(at moment: Moment) -> Stamp {
        if moment.wall >= self.floor { return Stamp(time: moment.wall, basis: .clock) }
        guard let last = self.receiverTime else { return Stamp(time: moment.wall, basis: .unset) }
        return Stamp(time: last.time.advanced(by: last.now.duration(to: moment.now)), basis: .receiver)
    }

    /// Returns a fix with a corrected time.
    ///
    /// A plausible time of a receiver remains and is remembered. An implausible one is replaced by the best known time.
    /// While there is none, the fix keeps its time and gets the member `"clock": "unset"` in its `extra`. Fixes from
    /// recordings and from other software are returned unchanged.
    ///
    /// - Parameters:
    ///   - fix: The fix that arrived.
    ///   - moment: The time on both clocks.
    public mutating func stamped(_ fix: Location, at moment: Moment) -> Location {
        guard fix.source == .gps || fix.source == .network else { return fix }
        if fix.time >= self.fixFloor {
            self.receiverTime = ReceiverTime(time: fix.time, now: moment.now)
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
