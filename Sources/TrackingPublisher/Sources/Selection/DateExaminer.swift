import Synchronization
import TrackingCore
import TrackingRuntime

/// Corrects or tells dates that are whole multiples of 1,024 weeks off, during one run of a source; counts its fixes.
final class DateExaminer: Sendable {
    private struct State {
        /// What was said; a receiver may mix right dates with wrong ones.
        var told: Set<WeekRollover> = []
        var fixes = 0
    }

    private let facts: SourceFacts
    private let isClockTrusted: @Sendable () -> Bool
    private let state = Mutex(State())

    /// Examines the fixes of the source with these facts; only those of a live one have a date that must be today's.
    init(_ facts: SourceFacts, _ isClockTrusted: @escaping @Sendable () -> Bool) {
        self.facts = facts
        self.isClockTrusted = isClockTrusted
    }

    /// Whether exactly one fix was examined so far.
    var isFirstFix: Bool { self.state.withLock { $0.fixes == 1 } }

    /// The event as it is to be delivered, after a notice where there is something to say that was not said yet.
    func examine(_ event: SourceEvent) -> [SourceEvent] {
        guard case .fix(var location) = event else { return [event] }
        self.state.withLock { $0.fixes += 1 }
        guard self.facts.isLive else { return [event] }
        let clock = SourceClock.unix
        let doubt = WeekRollover.examine(location.time, clock: clock, isTrusted: false)
        let verdict =
            doubt == .asIs
            ? doubt : WeekRollover.examine(location.time, clock: clock, isTrusted: self.isClockTrusted())
        location.time = verdict.applied(to: location.time)
        // The date of what the receiver made up is no news.
        if let mark = verdict.mark, location.extra == nil { location.extra = mark }
        let isNew = self.state.withLock { $0.told.insert(verdict).inserted }
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
