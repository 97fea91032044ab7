import TrackingCore

/// What a connection asked for and was refused: rights may come, or the broker may just have been at a loss. It is asked for again
/// after a second, with waits that double up to 15 minutes.
struct RefusedFilters {
    private static let longestWait = Duration.seconds(900)

    private var asked: [String] = []
    private var refused: [String] = []
    private var wait = Duration.seconds(1)
    /// When it is to be asked for again.
    private(set) var retryAt: MonotonicTime?

    /// These are asked for now.
    mutating func asking(_ filters: [String]) -> [String] {
        self.asked = filters
        return filters
    }

    /// The broker answered.
    ///
    /// - Returns: What was not refused before.
    mutating func answered(
        _ refusals: [TrackingError?], now: MonotonicTime
    ) -> [(filter: String, reason: TrackingError)] {
        let refused = zip(self.asked, refusals).compactMap { filter, reason in
            reason.map { (filter: filter, reason: $0) }
        }
        let new = refused.filter { !self.refused.contains($0.filter) }
        self.refused = refused.map(\.filter)
        guard !refused.isEmpty else { return [] }
        self.retryAt = now.advanced(by: self.wait)
        self.wait = min(self.wait * 2, Self.longestWait)
        return new
    }

    /// What is to be asked for again now, or `nil`.
    mutating func timerFired(now: MonotonicTime) -> [String]? {
        guard let retryAt = self.retryAt, retryAt <= now else { return nil }
        self.retryAt = nil
        return self.asking(self.refused)
    }
}
