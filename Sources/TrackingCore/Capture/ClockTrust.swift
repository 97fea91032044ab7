/// Determines the time on a device whose clock may not be set. Without a battery-backed clock, a device's clock begins
/// in 1970 after booting.
///
/// A clock below ``floor``, the earliest plausible time, counts as not set. In its place, the last time of a receiver
/// is used, continued with the monotonic clock. Before the first time of a receiver, times are marked as unset. Records
/// are ordered by their numbers, never by these times.
public struct ClockTrust: Hashable, Sendable {
    /// The source of a time: the device's clock, a receiver, or an unset clock.
    public enum Basis: String, Hashable, Sendable, CaseIterable {
        /// The time comes from the device's clock, which is set.
        case clock
        /// The time comes from a receiver's last fix, continued with the monotonic clock.
        case receiver
        /// The time comes from the device's clock while it is not set. Such times are only useful relative to each
        /// other.
        case unset
    }

    /// A time together with its source: the device's clock, a receiver, or a clock that is not set.
    public struct Stamp: Hashable, Sendable {
        /// The time of the stamp: that of the device's clock if it is set, else the last time of a receiver plus the
        /// time that has passed on the monotonic clock since then, else the time of the clock that is not set.
        public var time: UnixTime
        /// The source from which the stamp's time was taken: the device's clock, a receiver, or a clock that is not
        /// set.
        public var basis: Basis

        /// The members to add to the details of an event with this time: `"clock": "unset"` if the time comes from a
        /// clock that is not set, otherwise none.
        public var detail: [String: TrackingEvent.DetailValue] {
            self.basis == .unset ? ["clock": .text(self.basis.rawValue)] : [:]
        }
    }

    /// The last plausible time that a receiver's fix contained, and the monotonic time at which that fix arrived. From
    /// both, the present time is computed while the device's clock is not set.
    private struct ReceiverTime: Hashable, Sendable {
        let time: UnixTime
        let now: MonotonicTime
    }

    /// The earliest plausible time of a device that runs this version of Godwit: 2026-01-01T00:00:00Z.
    public static let buildFloor = UnixTime(1_767_225_600)
    /// The start of GPS time, 1980-01-06T00:00:00Z. A clock or a receiver that was never set may report earlier times.
    public static let gpsEpoch = UnixTime(315_964_800)

    /// The earliest plausible time of the device's clock. While the clock shows an earlier time, it counts as not set.
    public let floor: UnixTime
    /// The earliest plausible time of a receiver. An earlier time of a fix counts as wrong.
    public let fixFloor: UnixTime
    private var receiverTime: ReceiverTime?

    /// Makes the state that determines the time on a device, from the earliest plausible times of the device's clock
    /// (`floor`) and of a receiver (`fixFloor`). It knows no receiver's time yet.
    public init(floor: UnixTime = ClockTrust.buildFloor, fixFloor: UnixTime = ClockTrust.buildFloor) {
        self.floor = floor
        self.fixFloor = fixFloor
    }

    /// Copies the last time of a receiver from `other`, the clock trust that this one replaces after a change of the
    /// settings.
    mutating func goOn(from other: ClockTrust) { self.receiverTime = other.receiverTime }

    /// Returns the best known time for an event that happens at `moment`, with the source of the time: the device's
    /// clock if it is set, else the last time of a receiver, continued with the monotonic clock. Before the first time
    /// of a receiver, it is the clock that is not set.
    public func stamp(at moment: Moment) -> Stamp {
        if moment.wall >= self.floor { return Stamp(time: moment.wall, basis: .clock) }
        guard let last = self.receiverTime else { return Stamp(time: moment.wall, basis: .unset) }
        return Stamp(time: last.time.advanced(by: last.now.duration(to: moment.now)), basis: .receiver)
    }

    /// Returns a fix with its time corrected, if the time is wrong.
    ///
    /// A plausible time remains. If the fix is from a satellite receiver, the time is remembered as the receiver's last
    /// time. The time of a network position is not, because it may be that of the device's clock.
    ///
    /// A time before ``fixFloor`` is replaced by the best known time. If there is none, the fix keeps its time and is
    /// marked with `"clock": "unset"` in its `extra`. Only fixes from a satellite or network receiver are corrected.
    ///
    /// - Parameters:
    ///   - fix: The fix that arrived.
    ///   - moment: The time of the arrival, on the wall clock and the monotonic clock.
    public mutating func stamped(_ fix: Location, at moment: Moment) -> Location {
        guard fix.source == .gps || fix.source == .network else { return fix }
        if fix.time >= self.fixFloor {
            if fix.source == .gps { self.receiverTime = ReceiverTime(time: fix.time, now: moment.now) }
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
