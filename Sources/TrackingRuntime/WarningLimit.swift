package import TrackingCore

/// Decides which of many like warnings are said, so that strangers cannot fill a log: of each kind the first 10, and then
/// one every 10 s with the number of those that were not.
package struct WarningLimit<Kind: Hashable & Sendable>: Sendable {
    /// What to do about one of them.
    package enum Verdict: Hashable, Sendable {
        /// Say it, and that this many before it were not said.
        case say(unsaid: Int)
        /// It is only counted.
        case keepQuiet
    }

    private struct Tally: Sendable {
        var said = 0
        var unsaid = 0
        var last: MonotonicTime
    }

    /// How many of a kind are said at once.
    package static var atOnce: Int { 10 }
    /// After those, the time between two of a kind.
    package static var interval: Duration { .seconds(10) }

    private var tallies: [Kind: Tally] = [:]

    /// Nothing was said yet.
    package init() {}

    /// One more of this kind.
    package mutating func happened(_ kind: Kind, now: MonotonicTime) -> Verdict {
        var tally = self.tallies[kind] ?? Tally(last: now)
        defer { self.tallies[kind] = tally }
        guard tally.said < Self.atOnce || tally.last.duration(to: now) >= Self.interval else {
            tally.unsaid += 1
            return .keepQuiet
        }
        let unsaid = tally.unsaid
        tally = Tally(said: tally.said + 1, last: now)
        return .say(unsaid: unsaid)
    }

    /// Nothing more comes: how many were not said, of any kind. They are counted anew.
    package mutating func takeUnsaid() -> Int {
        let unsaid = self.tallies.values.reduce(0) { $0 + $1.unsaid }
        for kind in self.tallies.keys { self.tallies[kind]?.unsaid = 0 }
        return unsaid
    }
}
