package import TrackingCore

/// Limits similar warnings, so that strangers cannot fill a log. Of each kind the first 10 are logged, and then one
/// every 10 s with the number of those that were not logged.
package struct WarningLimit<Kind: Hashable & Sendable>: Sendable {
    /// The decision about one warning.
    package enum Verdict: Hashable, Sendable {
        /// Say it, and that this many before it were not said.
        case say(suppressed: Int)
        /// It is only counted.
        case keepQuiet
    }

    private struct Tally: Sendable {
        var said = 0
        var suppressed = 0
        var last: MonotonicTime
    }

    /// The number of warnings of a kind that are logged without a pause.
    package static var atOnce: Int { 10 }
    /// The time between two later warnings of a kind.
    package static var interval: Duration { .seconds(10) }

    private var tallies: [Kind: Tally] = [:]

    /// Creates a limit without warnings.
    package init() {}

    /// Counts a warning and decides about it.
    package mutating func happened(_ kind: Kind, now: MonotonicTime) -> Verdict {
        var tally = self.tallies[kind] ?? Tally(last: now)
        defer { self.tallies[kind] = tally }
        guard tally.said < Self.atOnce || tally.last.duration(to: now) >= Self.interval else {
            tally.suppressed += 1
            return .keepQuiet
        }
        let suppressed = tally.suppressed
        tally = Tally(said: tally.said + 1, last: now)
        return .say(suppressed: suppressed)
    }

    /// Nothing more comes: how many were not said, of any kind. They are counted anew.
    package mutating func takeSuppressed() -> Int {
        let suppressed = self.tallies.values.reduce(0) { $0 + $1.suppressed }
        for kind in self.tallies.keys { self.tallies[kind]?.suppressed = 0 }
        return suppressed
    }
}
