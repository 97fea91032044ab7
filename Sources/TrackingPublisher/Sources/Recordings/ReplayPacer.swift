public import TrackingCore

/// Decides when each fix of a recording is due, and whether the resolution in force wants it.
public struct ReplayPacer: Sendable {
    private let pace: ReplayPace
    /// A fix and the moment at which it was due, from which the others are counted.
    private var anchor: (fix: UnixTime, due: MonotonicTime)?
    private var lastDelivered: UnixTime?

    /// Makes a pacer that has seen nothing yet.
    public init(pace: ReplayPace) { self.pace = pace }

    /// When the fix of this time is due: `nil` for at once.
    ///
    /// Where the recording jumps back (several tracks in one file), the clock starts anew.
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

    /// Whether the fix of this time is delivered: at `max` each one; otherwise those that the desired interval lets through,
    /// with the tolerance that the update filter has (a tenth, at most 100 ms), so that 1 Hz with jitter is not halved.
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
