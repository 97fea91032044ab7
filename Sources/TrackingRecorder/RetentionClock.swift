import TrackingCore
import TrackingStore

/// Determines the time from which the ages of recorded data are counted when expired records are removed.
///
/// The time is the wall clock's, but not later than the recorded data makes plausible. Otherwise a clock that is years
/// ahead would remove all records.
struct RetentionClock: Sendable {
    /// The longest time without new records by which the wall clock may be ahead of the newest record and is still
    /// believed.
    static let longestSilence = Duration.seconds(86_400)

    /// The latest plausible time, and the monotonic time at which it was determined; `nil` while nothing is stored.
    private var latest: (time: UnixTime, at: MonotonicTime)?

    /// Creates a retention clock that knows no recorded data yet.
    init() {}

    /// Returns the time from which the ages of records are counted.
    ///
    /// - Parameters:
    ///   - moment: The present time of the wall clock and the monotonic clock.
    ///   - newest: The times of the newest stored position and state. The time of the state counts in the first call
    ///     only, because later states carry the time of the clock that is being judged.
    ///   - isSynchronized: `true` if the system clock is known to be synchronised. The wall clock is then believed.
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
