public import TrackingCore

/// Decides when each fix of a recording is due, and whether the resolution in force needs it.
public struct ReplayPacer: Sendable {
    private let pace: ReplayPace
    /// The last fix and its deadline, from which the deadline of the next one is computed.
    private var anchor: (fix: UnixTime, due: MonotonicTime)?
    private var lastDelivered: UnixTime?

    /// Creates a pacer that has not received a fix yet.
    ///
    /// - Parameter pace: The speed of the replay.
    public init(pace: ReplayPace) { self.pace = pace }

    /// Returns the deadline of the fix with this time; `nil` when it is due at once.
    ///
    /// A time before that of the last fix, as in a file with several tracks, resets the clock.
    ///
    /// - Parameters:
    ///   - fix: The time of the fix.
    ///   - now: The time on the monotonic clock.
    public mutating func due(_ fix: UnixTime, now: MonotonicTime) -> MonotonicTime? {
        guard case .times(let factor) = self.pace else { return nil }
        guard let anchor = self.anchor, fix >= anchor.fix else {
            self.anchor = (fix, now)
            return nil
        }
        let due = anchor.due.advanced(
            by: Duration(clampingSeconds: fix.since(anchor.fix).inSeconds / factor))
        self.anchor = (fix, due)
        return due > now ? due : nil
    }

    /// Returns `true` when the fix with this time is to be delivered. At `max` every fix is. Otherwise the desired
    /// interval decides, with the tolerance of the update filter (a tenth, at most 100 ms), so that 1 Hz with jitter
    /// is not halved.
    mutating func isWanted(_ fix: UnixTime, under resolution: Resolution?) -> Bool {
        if self.pace == .maximum { return true }
        if let interval = resolution?.desiredInterval.inSeconds, let last = self.lastDelivered, fix >= last {
            let tolerance = min(interval / 10, 0.1)
            guard fix.since(last).inSeconds >= interval - tolerance else { return false }
        }
        self.lastDelivered = fix
        return true
    }
}
