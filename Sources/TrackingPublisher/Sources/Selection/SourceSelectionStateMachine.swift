import TrackingCore

/// Decides which of several sources runs, and when a broken source is tried again. It uses no source and no clock.
///
/// The selected source is the least accurate one, and so the cheapest, whose class of accuracy meets the wanted one.
/// When none does, it is the most accurate one. While the selected source is broken, the next best one runs. While the
/// selected source is tried again, both run until it delivers.
struct SourceSelectionStateMachine: Sendable {
    /// An instruction to the caller: run or stop the source with this index, deliver a notice, or end.
    enum Action: Hashable, Sendable {
        case run(Int)
        case stop(Int)
        case deliver(SourceNotice)
        /// End the selection without an error, because every source has ended.
        case finish
        /// Stop reading all sources with this error: a source that is not live, such as a recording, broke. Such a
        /// source is not tried again.
        case fail(TrackingError)
    }

    /// The growing waits before a broken source is tried again, from 1 s to at most 60 s.
    static let backoff = Backoff(first: .seconds(1), maximum: .seconds(60))
    /// The least time from a run's first fix to a break, 30 s, after which the wait for the next try is the shortest
    /// one.
    static let recovery: Duration = .seconds(30)

    /// The state of one source of fixes: closed, running, waiting for the next try, or ended.
    private enum State: Hashable, Sendable {
        /// The source does not run. Next state: `running`.
        case closed
        /// The source runs. `attempt` is the number of times that it was started again since it last worked; 0 if it
        /// has not broken. `since` is the time of the first fix of this run. Next states: `closed`, `waiting`, `ended`.
        case running(attempt: Int, since: MonotonicTime?)
        /// The source is broken and waits for the next try. Next states: `running`, or `closed` when it is no longer
        /// wanted.
        case waiting(attempt: Int, until: MonotonicTime)
        /// The source of fixes ended and is not started again. Final.
        case ended
    }

    private struct Source: Sendable {
        let facts: SourceFacts
        var state = State.closed
        /// `true` from the notice that this source is lost until the notice that it works again.
        var isLost = false
        /// The number of the next try after the source broke; 0 if it has not broken. It is kept while the source is
        /// closed.
        var attempt = 0
    }

    private var sources: [Source]
    private var accuracy: Resolution.Accuracy
    private var selected: Int?

    /// Creates the machine for these sources. Their order gives each source its index, and the preference among equal
    /// sources.
    init(_ sources: [SourceFacts], accuracy: Resolution.Accuracy) {
        self.sources = sources.map { Source(facts: $0) }
        self.accuracy = accuracy
    }

    /// The time at which the caller must call ``timerFired(now:)`` next; `nil` if no broken source waits for its next
    /// try.
    var deadline: MonotonicTime? {
        self.sources.compactMap { source in
            if case .waiting(_, let until) = source.state { until } else { nil }
        }.min()
    }

    /// Starts the selection. Returns the instructions to run the first sources.
    mutating func started(now: MonotonicTime) -> [Action] { self.decide(now: now) }

    /// Sets the class of accuracy that the trackables need. Returns the instructions to start and stop sources.
    mutating func accuracyChanged(to accuracy: Resolution.Accuracy, now: MonotonicTime) -> [Action] {
        self.accuracy = accuracy
        return self.decide(now: now)
    }

    /// Handles that a source delivered a fix. The caller reports at least the first fix of each run.
    mutating func delivered(_ index: Int, now: MonotonicTime) -> [Action] {
        guard case .running(let attempt, nil) = self.sources[index].state else { return [] }
        self.sources[index].state = .running(attempt: attempt, since: now)
        var actions: [Action] = []
        if self.sources[index].isLost {
            self.sources[index].isLost = false
            actions.append(.deliver(.found(source: self.sources[index].facts.name)))
        }
        return actions + self.decide(now: now)
    }

    /// Handles that a running source broke. A live source is tried again after a wait. For any other source, such as a
    /// recording, returns the instruction to end with the error.
    mutating func broke(_ index: Int, _ error: TrackingError, now: MonotonicTime) -> [Action] {
        guard case .running(let attempt, let since) = self.sources[index].state else { return [] }
        guard self.sources[index].facts.isLive else { return [.fail(error)] }
        let hasRecovered = since.map { $0.duration(to: now) >= Self.recovery } ?? false
        let next = hasRecovered ? 1 : attempt + 1
        self.sources[index].state = .waiting(attempt: next, until: now.advanced(by: Self.backoff.wait(after: next)))
        self.sources[index].attempt = next
        var actions: [Action] = []
        if !self.sources[index].isLost {
            self.sources[index].isLost = true
            actions.append(.deliver(.lost(source: self.sources[index].facts.name, reason: error)))
        }
        return actions + self.decide(now: now)
    }

    /// Handles that a running source ended. It is not started again; another source may be started in its place.
    mutating func ended(_ index: Int, now: MonotonicTime) -> [Action] {
        guard case .running = self.sources[index].state else { return [] }
        self.sources[index].state = .ended
        return self.decide(now: now)
    }

    /// Handles that the time of the next try of a broken source, ``deadline``, has come. Returns the instructions to
    /// start and stop sources. An early or outdated timer has no effect.
    mutating func timerFired(now: MonotonicTime) -> [Action] { self.decide(now: now) }

    /// Returns the instructions to start and stop sources, so that exactly those sources run that should run now.
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
            // A possible substitute for the best source is not tried before its own wait is over.
            case .waiting(_, let until) where index != best && (until <= now || !needsOther):
                self.sources[index].state = .closed
            case .waiting, .closed, .ended: break
            }
        }
        for index in wanted { actions += self.run(index) }
        return actions + self.deliverSelection(wanted)
    }

    private mutating func run(_ index: Int) -> [Action] {
        switch self.sources[index].state {
        case .running, .ended: return []
        case .waiting(let attempt, _): self.sources[index].state = .running(attempt: attempt, since: nil)
        case .closed: self.sources[index].state = .running(attempt: self.sources[index].attempt, since: nil)
        }
        return [.run(index)]
    }

    /// Returns the indexes of the sources that should run: that of the selected source `best`. While that source is
    /// broken and waits for the next try, only its best substitute runs; while it is tried again, both run.
    private func wanted(_ best: Int, now: MonotonicTime) -> [Int] {
        let isWaiting = self.isWaiting(best, now: now)
        let substitute = self.best { index in index != best && !self.isWaiting(index, now: now) }
        guard isWaiting || self.isOnTrial(best) else { return [best] }
        return (isWaiting ? [] : [best]) + (substitute.map { [$0] } ?? [])
    }

    private func isWaiting(_ index: Int, now: MonotonicTime) -> Bool {
        if case .waiting(_, let until) = self.sources[index].state { until > now } else { false }
    }

    /// Returns `true` when a source that broke has not delivered a fix since, and has not ended.
    private func isOnTrial(_ index: Int) -> Bool {
        switch self.sources[index].state {
        case .running(_, let since): since == nil && self.sources[index].isLost
        case .waiting, .closed: self.sources[index].isLost
        case .ended: false
        }
    }

    /// Returns the index of the least accurate candidate whose class of accuracy meets the wanted one, or else of the
    /// most accurate candidate. Among equals, the one that was named first wins. `nil` if there is no candidate that
    /// has not ended.
    private func best(where isCandidate: (Int) -> Bool) -> Int? {
        let candidates = self.sources.indices.filter { self.sources[$0].state != .ended && isCandidate($0) }
        let sufficient = candidates.filter { self.sources[$0].facts.accuracy >= self.accuracy }
        if let cheapest = sufficient.min(by: { self.rank($0) < self.rank($1) }) { return cheapest }
        // `max` would return the last of equal sources.
        return candidates.min { self.rank($0) > self.rank($1) }
    }

    private func rank(_ index: Int) -> Int { self.sources[index].facts.accuracy.rank }

    /// Returns a notice of the selected source if another source was selected. With a single source, there is no
    /// notice.
    private mutating func deliverSelection(_ wanted: [Int]) -> [Action] {
        guard self.sources.count > 1 else { return [] }
        let running = wanted.first { !self.isOnTrial($0) } ?? wanted.first
        guard let running, running != self.selected else { return [] }
        self.selected = running
        return [.deliver(.selected(source: self.sources[running].facts.name))]
    }
}
