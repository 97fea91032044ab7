package import TrackingCore

/// Limits similar warnings, so that foreign programs cannot fill the program's log. Of each kind, the first 10 warnings
/// are logged, and then at most one every 10 s, with the number of those that were not logged.
package struct WarningLimit<Kind: Hashable & Sendable>: Sendable {
    /// The decision whether a warning is logged.
    package enum Verdict: Hashable, Sendable {
        /// Log the warning, together with the number `suppressed` of the warnings of its kind that were not logged
        /// before it.
        case say(suppressed: Int)
        /// Do not log the warning. It is counted as suppressed.
        case keepQuiet
    }

    private struct Tally: Sendable {
        var said = 0
        var suppressed = 0
        var last: MonotonicTime
    }

    /// The number of warnings of a kind that are logged without a limit of their rate: the first 10.
    package static var atOnce: Int { 10 }
    /// The shortest time between two logged warnings of a kind, once the first ``atOnce`` were logged: 10 s.
    package static var interval: Duration { .seconds(10) }

    private var tallies: [Kind: Tally] = [:]

    /// Creates a limit that has counted no warnings yet.
    package init() {}

    /// Counts a warning of a kind, and decides if it is logged.
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

    /// Returns the number of warnings of all kinds that were not logged, and whose number was not logged with a later
    /// warning. Resets this number to 0. Call this method at the end of the program.
    package mutating func takeSuppressed() -> Int {
        let suppressed = self.tallies.values.reduce(0) { $0 + $1.suppressed }
        for kind in self.tallies.keys { self.tallies[kind]?.suppressed = 0 }
        return suppressed
    }
}
