public import TrackingCore
import TrackingRuntime

/// Runs, of several sources, the cheapest whose class meets the accuracy that is wanted, and really closes the others.
///
/// A live source that breaks is tried again after 1, 2, 4 … 60 s, while the next best runs; that is told by notices. A receiver's
/// date that is off by whole multiples of 1,024 weeks is corrected or told. It is a source itself: it ends when all of its
/// sources have ended.
public struct SourceRunner: LocationSource {
    /// The sources, as one: named one after the other.
    public let facts: SourceFacts
    private let sources: [any LocationSource]
    private let isClockTrusted: @Sendable () -> Bool
    private let catchUp: (@Sendable () async -> Void)?
    private let wanted = ResolutionBox()

    /// What happened to a source, on its way to the one task that decides.
    private struct Event: Sendable {
        enum Kind: Sendable {
            case delivered
            case broke(TrackingError)
            case ended
        }
        var run: Run
        var kind: Kind
    }

    /// One run of a source, by number: what an earlier one of the same source says late is not about this one.
    private struct Run: Hashable, Sendable {
        var source: Int
        var number: Int
    }

    /// Runs `sources`, at least one.
    ///
    /// - Parameters:
    ///   - isClockTrusted: whether somebody vouches for the device's clock; asked when a date is in doubt. The default asks
    ///     the kernel.
    ///   - catchUp: asked after each fix of a source that can wait, a file or a pipe; that source goes on when it returns,
    ///     the others meanwhile.
    public init(
        _ sources: [any LocationSource], isClockTrusted: (@Sendable () -> Bool)? = nil,
        catchUp: (@Sendable () async -> Void)? = nil
    ) {
        precondition(!sources.isEmpty, "a runner needs a source to run")
        self.sources = sources
        self.catchUp = catchUp
        self.isClockTrusted = isClockTrusted ?? { SystemClockTrust.isSynchronized }
        let facts = sources.map(\.facts)
        self.facts = SourceFacts(
            name: facts.map(\.name).joined(separator: " "), kind: facts[0].kind,
            isFinite: facts.allSatisfy(\.isFinite), isLive: facts.contains(where: \.isLive),
            accuracy: facts.map(\.accuracy).max() ?? .high)
    }

    /// Says which resolution is wanted from now on: to every source, and it may be another one that runs then.
    public func use(_ resolution: Resolution) async {
        for source in self.sources { await source.use(resolution) }
        self.wanted.set(resolution)
    }

    /// Delivers what the running source tells, one event after the other, until all have ended or the task is cancelled.
    ///
    /// - Throws: `inputUnreadable` when a recording cannot be read, which is not retried.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        let waiter = Waiter()
        self.wanted.wakes(waiter)
        defer { self.wanted.wakes(nil) }
        let failure = await withDiscardingTaskGroup { group -> TrackingError? in
            let failure = await self.decide(&group, waiter, deliver)
            group.cancelAll()
            return failure
        }
        if let failure { throw failure }
    }

    /// Owns the machine; returns when there is nothing left to do.
    private func decide(
        _ group: inout DiscardingTaskGroup, _ waiter: Waiter, _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async -> TrackingError? {
        let gate = DeliveryGate()
        let inbox = SourceInbox<Event>(waiter)
        var runs: [Int: (run: Run, stop: Waiter)] = [:]
        var count = 0
        var accuracy = self.wanted.current?.accuracy ?? .high
        var machine = SourceSelectionStateMachine(self.sources.map(\.facts), accuracy: accuracy)
        var actions = machine.started(now: SourceClock.now)
        while true {
            for action in actions {
                switch action {
                case .run(let index):
                    count += 1
                    let run = Run(source: index, number: count)
                    let stop = Waiter()
                    runs[index] = (run, stop)
                    group.addTask { await self.perform(run, until: stop, inbox, gate, deliver) }
                case .stop(let index): runs.removeValue(forKey: index)?.stop.signal(.news)
                case .tell(let notice): await gate.pass { await deliver(.notice(notice)) }
                case .finish: return nil
                case .fail(let error): return error
                }
            }
            if Task.isCancelled { return nil }
            await self.wait(until: machine.deadline, waiter)
            actions = []
            for event in inbox.take() where runs[event.run.source]?.run == event.run {
                actions += Self.tell(event, to: &machine)
            }
            if let wanted = self.wanted.current?.accuracy, wanted != accuracy {
                accuracy = wanted
                actions += machine.accuracyChanged(to: wanted, now: SourceClock.now)
            }
            actions += machine.timerFired(now: SourceClock.now)
        }
    }

    /// Waits for something to happen.
    private func wait(until deadline: MonotonicTime?, _ waiter: Waiter) async {
        let id = deadline.map { Poller.shared.arm(Poller.Interest(deadline: $0), waiter) }
        _ = await waiter.next()
        if let id { Poller.shared.disarm(id) }
    }

    private static func tell(
        _ event: Event, to machine: inout SourceSelectionStateMachine
    ) -> [SourceSelectionStateMachine.Action] {
        switch event.kind {
        case .delivered: machine.delivered(event.run.source, now: SourceClock.now)
        case .broke(let error): machine.broke(event.run.source, error, now: SourceClock.now)
        case .ended: machine.ended(event.run.source, now: SourceClock.now)
        }
    }

    /// Runs one source until it ends, breaks or is stopped.
    private func perform(
        _ run: Run, until stop: Waiter, _ inbox: SourceInbox<Event>, _ gate: DeliveryGate,
        _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async {
        let source = self.sources[run.source]
        let examiner = DateExaminer(source.facts, self.isClockTrusted)
        await withTaskGroup(of: Event?.self) { group in
            group.addTask {
                do throws(TrackingError) {
                    try await source.run { event in
                        await gate.pass {
                            for event in examiner.examine(event) { await deliver(event) }
                        }
                        guard case .fix = event else { return }
                        if examiner.isFirstFix { inbox.post(Event(run: run, kind: .delivered)) }
                        if source.facts.isFinite { await self.catchUp?() }
                    }
                    return Event(run: run, kind: .ended)
                } catch {
                    return Event(run: run, kind: .broke(error))
                }
            }
            group.addTask {
                _ = await stop.next()
                return nil
            }
            // Whichever is over first ends the other; a source that was stopped has nothing more to report.
            let outcome = await group.next() ?? nil
            group.cancelAll()
            if let outcome, !Task.isCancelled { inbox.post(outcome) }
        }
    }
}
