import TrackingCore
import TrackingStore

/// Tells the time by which what is too old is removed: that of the clock, but never further ahead than what was recorded explains.
/// A clock that is years ahead would let go everything.
struct RetentionClock: Sendable {
    /// For so long nothing need come.
    static let longestSilence = Duration.seconds(86_400)

    /// What the clock may say at most, and when it may; `nil` while nothing is stored.
    private var latest: (time: UnixTime, at: MonotonicTime)?

    /// Makes one that knows nothing.
    init() {}

    /// The time by which ages are counted now.
    ///
    /// - Parameters:
    ///   - newest: What is stored. What presences and resolutions tell counts the first time only: from then on they have the time of
    ///     the clock that is judged.
    ///   - isSynchronized: Whether somebody vouches for the clock.
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
