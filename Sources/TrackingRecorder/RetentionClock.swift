import TrackingCore
import TrackingStore

/// Determines the present time from which the ages of recorded data are counted when expired records are removed.
///
/// The result is the time of the wall clock, but at most the latest time that the recorded data makes plausible. A wall
/// clock that is years ahead therefore does not remove all records.
struct RetentionClock: Sendable {
    /// The time by which the wall clock may be ahead of the newest record and is still believed: one day.
    static let longestSilence = Duration.seconds(86_400)

    /// The latest plausible time that the last call determined, and the monotonic time of that call; `nil` before the
    /// first call.
    private var latest: (time: UnixTime, at: MonotonicTime)?

    /// Creates a clock for the ages of recorded data. It has not determined a time yet.
    init() {}

    /// Returns the present time from which the ages of records are counted.
    ///
    /// - Parameters:
    ///   - moment: The present time of the wall clock and the monotonic clock.
    ///   - newest: The times of the newest stored position and of the presence or resolution that was received last.
    ///     The second time is used in the first call only.
    ///   - isSynchronized: `true` if the system clock is known to be synchronised. The result is then the wall clock's
    ///     time.
    mutating func time(at moment: Moment, newest: NewestTimes, isSynchronized: Bool) -> UnixTime {
        var explained = [newest.position?.advanced(by: Self.longestSilence)]
        if let latest = self.latest {
            explained.append(latest.time.advanced(by: latest.at.duration(to: moment.now)))
        } else {
            explained.append(newest.state?.advanced(by: Self.longestSilence))
        }
        if isSynchronized { explained = [moment.wall] }
        guard let time = explained.compactMap({ $0 }).max() else { return moment.wall }
        self.latest = (time, moment.now)
        return min(time, moment.wall)
    }
}
