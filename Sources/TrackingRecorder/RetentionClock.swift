import TrackingCore
import TrackingStore

/// Determines the time from which the ages of records are counted: the wall clock, but not further ahead than the
/// recorded data explains. A clock that is years ahead would otherwise remove all records.
struct RetentionClock: Sendable {
    /// The longest silence that is explained without new records.
    static let longestSilence = Duration.seconds(86_400)

    /// The latest time that is explained, and the monotonic time at which it was determined; `nil` while nothing is
    /// stored.
    private var latest: (time: UnixTime, at: MonotonicTime)?

    /// Creates a clock without data.
    init() {}

    /// Returns the time from which ages are counted.
    ///
    /// - Parameters:
    ///   - newest: The newest stored times. The times of presences and resolutions count in the first call only,
    ///     because later ones come from the clock that is being judged.
    ///   - isSynchronized: `true` if the system clock is known to be synchronised.
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
