public import TrackingCore

/// Decides when each fix of a recording is due, and whether the resolution in force needs it.
public struct ReplayPacer: Sendable {
    private let pace: ReplayPace
    /// The time of the previous fix in the recording, and the time at which it was due. The time of the next fix is
    /// computed from them; a fix that goes back in time begins anew.
    private var anchor: (fix: UnixTime, due: MonotonicTime)?
    private var lastDelivered: UnixTime?

    /// Creates a pacer that has not received a fix yet.
    ///
    /// - Parameter pace: The speed of the replay.
    public init(pace: ReplayPace) { self.pace = pace }

    /// Returns the deadline of the fix with this time; `nil` when the fix is due at once.
    ///
    /// A fix that is older than the previous one, as in a file with several tracks, is due at once. The deadlines of
    /// later fixes are then computed from this fix.
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

    /// Returns `true` when the fix with this time is to be delivered.
    ///
    /// At the pace `max`, every fix is delivered. At other paces, a fix is delivered if the desired interval, reduced
    /// by a tolerance (a tenth, at most 100 ms), has passed since the last delivered fix. Without the tolerance, a
    /// recording with about one fix a second would lose every second fix. A fix that is older than the last delivered
    /// one is always delivered.
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
