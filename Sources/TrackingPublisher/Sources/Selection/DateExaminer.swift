import Synchronization
import TrackingCore
import TrackingRuntime

/// Examines the fixes of one run of a source for dates that are off by whole multiples of 1,024 weeks.
///
/// It corrects such a date, or marks the fix as doubtful if the device's clock is not trusted.
final class DateExaminer: Sendable {
    private struct State {
        /// The verdicts about wrong dates that were already reported for this receiver. Each verdict is reported once,
        /// because a receiver may mix correct and wrong dates.
        var reported: Set<WeekRollover> = []
        var fixes = 0
    }

    private let facts: SourceFacts
    private let isClockTrusted: @Sendable () -> Bool
    private let state = Mutex(State())

    /// Makes an examiner for one run of a source. It examines only live sources, because recordings have old dates.
    init(_ facts: SourceFacts, _ isClockTrusted: @escaping @Sendable () -> Bool) {
        self.facts = facts
        self.isClockTrusted = isClockTrusted
    }

    /// `true` after exactly one fix of this run of the source was examined, so that the latest fix was the first one.
    var isFirstFix: Bool { self.state.withLock { $0.fixes == 1 } }

    /// Examines an event of the source. A fix with a wrong date is corrected, or marked as doubtful; other events are
    /// unchanged.
    ///
    /// - Returns: The event to deliver. A notice about the wrong date precedes it, unless the same verdict was reported
    ///   before.
    func examine(_ event: SourceEvent) -> [SourceEvent] {
        guard case .fix(var location) = event else { return [event] }
        self.state.withLock { $0.fixes += 1 }
        guard self.facts.isLive else { return [event] }
        let clock = DeviceClock.wall
        let doubt = WeekRollover.examine(location.time, clock: clock, isTrusted: false)
        let verdict =
            doubt == .asIs
            ? doubt : WeekRollover.examine(location.time, clock: clock, isTrusted: self.isClockTrusted())
        location.time = verdict.applied(to: location.time)
        // A simulated fix has its own `extra`, which remains.
        if let mark = verdict.mark, location.extra == nil { location.extra = mark }
        let isNew = self.state.withLock { $0.reported.insert(verdict).inserted }
        return (isNew ? self.notice(verdict) : []) + [.fix(location)]
    }

    private func notice(_ verdict: WeekRollover) -> [SourceEvent] {
        switch verdict {
        case .asIs: []
        case .corrected(let rollovers): [.notice(.dateCorrected(source: self.facts.name, rollovers: rollovers))]
        case .suspect(let rollovers): [.notice(.dateSuspect(source: self.facts.name, rollovers: rollovers))]
        }
    }
}
