import TrackingCore

/// Decides which of several sources runs: the cheapest whose class meets the accuracy that is wanted, or the finest where none
/// does; and when a broken one is tried again. Touches no source and no clock.
///
/// While the right one is broken the next best runs. When it is tried again the other goes on beside it until it delivers.
struct SourceSelectionStateMachine: Sendable {
    /// What to do next.
    enum Action: Hashable, Sendable {
        case run(Int)
        case stop(Int)
        case tell(SourceNotice)
        /// Every source has ended.
        case finish
        /// There is no point in going on: an input that is not retried cannot be read.
        case fail(TrackingError)
    }

    /// The shortest and the longest wait before a broken source is tried again; each wait is twice the one before.
    static let shortestWait: Duration = .seconds(1)
    static let longestWait: Duration = .seconds(60)
    /// A source that delivered for so long starts again with the shortest wait when it breaks.
    static let recovery: Duration = .seconds(30)

    /// How a source is.
    private enum State: Hashable, Sendable {
        /// Not run. Can go to: `running`.
        case closed
        /// Run, as try number `attempt` since it last worked (0: it has not broken), delivering since then or not yet. Can go to:
        /// `closed`, `waiting`, `ended`.
        case running(attempt: Int, since: MonotonicTime?)
        /// Broken, until it is tried again. Can go to: `running`, `closed` (when it is no longer wanted).
        case waiting(attempt: Int, until: MonotonicTime)
        /// Came to its end. Final.
        case ended
    }

    private struct Source: Sendable {
        let facts: SourceFacts
        var state = State.closed
        /// Whether `lost` was said and `found` was not.
        var isLost = false
        /// The try that comes next if it was closed while it was broken.
        var attempt = 0
    }

    private var sources: [Source]
    private var accuracy: Resolution.Accuracy
    private var selected: Int?

    /// Makes the machine for these sources, in the order in which they were given.
    init(_ sources: [SourceFacts], accuracy: Resolution.Accuracy) {
        self.sources = sources.map { Source(facts: $0) }
        self.accuracy = accuracy
    }

    /// When ``timerFired(now:)`` is due next.
    var deadline: MonotonicTime? {
        self.sources.compactMap { source in
            if case .waiting(_, let until) = source.state { until } else { nil }
        }.min()
    }

    /// Begins.
    mutating func started(now: MonotonicTime) -> [Action] { self.decide(now: now) }

    /// Another accuracy is wanted.
    mutating func accuracyChanged(to accuracy: Resolution.Accuracy, now: MonotonicTime) -> [Action] {
        self.accuracy = accuracy
        return self.decide(now: now)
    }

    /// A source delivered a fix; told at least for the first one of a run.
    mutating func delivered(_ index: Int, now: MonotonicTime) -> [Action] {
        guard case .running(let attempt, nil) = self.sources[index].state else { return [] }
        self.sources[index].state = .running(attempt: attempt, since: now)
        var actions: [Action] = []
        if self.sources[index].isLost {
            self.sources[index].isLost = false
            actions.append(.tell(.found(source: self.sources[index].facts.name)))
        }
        return actions + self.decide(now: now)
    }

    /// A running source broke.
    mutating func broke(_ index: Int, _ error: TrackingError, now: MonotonicTime) -> [Action] {
        guard case .running(let attempt, let since) = self.sources[index].state else { return [] }
        guard self.sources[index].facts.isLive else { return [.fail(error)] }
        let hasRecovered = since.map { $0.duration(to: now) >= Self.recovery } ?? false
        let next = hasRecovered ? 1 : attempt + 1
        self.sources[index].state = .waiting(attempt: next, until: now.advanced(by: Self.wait(before: next)))
        self.sources[index].attempt = next
        var actions: [Action] = []
        if !self.sources[index].isLost {
            self.sources[index].isLost = true
            actions.append(.tell(.lost(source: self.sources[index].facts.name, reason: error)))
        }
        return actions + self.decide(now: now)
    }

    /// A running source came to its end.
    mutating func ended(_ index: Int, now: MonotonicTime) -> [Action] {
        guard case .running = self.sources[index].state else { return [] }
        self.sources[index].state = .ended
        return self.decide(now: now)
    }

    /// The deadline passed; an early or an old timer does nothing.
    mutating func timerFired(now: MonotonicTime) -> [Action] { self.decide(now: now) }

    /// How long to wait before try number `attempt`, from 1.
    static func wait(before attempt: Int) -> Duration {
        min(Self.shortestWait * (1 << min(attempt - 1, 10)), Self.longestWait)
    }

    /// The one funnel: brings what runs in line with what should run.
    private mutating func decide(now: MonotonicTime) -> [Action] {
        guard let best = self.best(where: { _ in true }) else {
            return [.finish]
        }
        let needsOther = self.isWaiting(best, now: now) || self.isOnTrial(best)
        let wanted = self.wanted(best, now: now)
        var actions: [Action] = []
        for index in self.sources.indices where !wanted.contains(index) {
            switch self.sources[index].state {
            case .running:
                self.sources[index].state = .closed
                actions.append(.stop(index))
            // Who may have to stand in for the best one is not tried before its own wait is over.
            case .waiting(_, let until) where index != best && (until <= now || !needsOther):
                self.sources[index].state = .closed
            case .waiting, .closed, .ended: break
            }
        }
        for index in wanted { actions += self.run(index) }
        return actions + self.tellSelection(wanted)
    }

    private mutating func run(_ index: Int) -> [Action] {
        switch self.sources[index].state {
        case .running, .ended: return []
        case .waiting(let attempt, _): self.sources[index].state = .running(attempt: attempt, since: nil)
        case .closed: self.sources[index].state = .running(attempt: self.sources[index].attempt, since: nil)
        }
        return [.run(index)]
    }

    /// What should run: the best one; while it is broken the best of the others, also while it is tried again.
    private func wanted(_ best: Int, now: MonotonicTime) -> [Int] {
        let isWaiting = self.isWaiting(best, now: now)
        let substitute = self.best { index in index != best && !self.isWaiting(index, now: now) }
        guard isWaiting || self.isOnTrial(best) else { return [best] }
        return (isWaiting ? [] : [best]) + (substitute.map { [$0] } ?? [])
    }

    private func isWaiting(_ index: Int, now: MonotonicTime) -> Bool {
        if case .waiting(_, let until) = self.sources[index].state { until > now } else { false }
    }

    /// Whether a source that broke has yet to prove that it works again.
    private func isOnTrial(_ index: Int) -> Bool {
        switch self.sources[index].state {
        case .running(_, let since): since == nil && self.sources[index].isLost
        case .waiting, .closed: self.sources[index].isLost
        case .ended: false
        }
    }

    /// The cheapest that suffices, else the finest; among equals the one that was named first.
    private func best(where isCandidate: (Int) -> Bool) -> Int? {
        let candidates = self.sources.indices.filter { self.sources[$0].state != .ended && isCandidate($0) }
        let sufficient = candidates.filter { self.sources[$0].facts.accuracy >= self.accuracy }
        if let cheapest = sufficient.min(by: { self.rank($0) < self.rank($1) }) { return cheapest }
        // `max` would take the last of equals.
        return candidates.min { self.rank($0) > self.rank($1) }
    }

    private func rank(_ index: Int) -> Int { self.sources[index].facts.accuracy.rank }

    /// Says which source is the one now, where there is a choice.
    private mutating func tellSelection(_ wanted: [Int]) -> [Action] {
        guard self.sources.count > 1 else { return [] }
        let running = wanted.first { !self.isOnTrial($0) } ?? wanted.first
        guard let running, running != self.selected else { return [] }
        self.selected = running
        return [.tell(.selected(source: self.sources[running].facts.name))]
    }
}
