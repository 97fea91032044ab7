public import TrackingCore
import TrackingRuntime

/// Selects and runs one of several sources: the least accurate one, and so the cheapest, whose class of accuracy meets
/// the wanted one. If none does, the most accurate source runs. It closes the other sources.
///
/// A live source that breaks is tried again after 1, 2, 4 … 60 s, while the next best source runs. Notices report these
/// changes. A receiver's date that is off by whole multiples of 1,024 weeks is corrected or marked. The runner is
/// itself a source, which ends when all of its sources have ended.
public struct SourceRunner: LocationSource {
    /// The facts of all sources together: the names of all, the kind of the first one, and the finest class of
    /// accuracy. The runner is finite if every source is finite, and live if at least one source is live.
    public let facts: SourceFacts
    private let sources: [any LocationSource]
    private let isClockTrusted: @Sendable () -> Bool
    private let catchUp: (@Sendable () async -> Void)?
    private let wanted = ResolutionBox()

    /// An event of one run of a source: the first fix, an error, or the end. The task that selects the sources receives
    /// it.
    private struct Event: Sendable {
        enum Kind: Sendable {
            case delivered
            case broke(TrackingError)
            case ended
        }
        var run: Run
        var kind: Kind
    }

    /// One run of a source, identified by a number. Late events of an earlier run of the same source are ignored.
    private struct Run: Hashable, Sendable {
        var source: Int
        var number: Int
    }

    /// Creates a runner for `sources`, at least one.
    ///
    /// - Parameters:
    ///   - sources: The sources, in the order of preference among equals.
    ///   - isClockTrusted: Returns `true` when the device's clock is trusted. The runner calls it when a date is in
    ///     doubt. By default it asks the kernel.
    ///   - catchUp: Called after each fix of a source that can wait, such as a file or a pipe. That source continues
    ///     when the call returns; the other sources do not wait.
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

    /// The time until which the receiver of a running source sleeps; `nil` while none does.
    public var asleepUntil: MonotonicTime? { self.sources.lazy.compactMap(\.asleepUntil).first }

    /// Sets the resolution that the trackables need from now on, and passes it to every source. Another class of
    /// accuracy may select another source.
    public func use(_ resolution: Resolution) async {
        for source in self.sources { await source.use(resolution) }
        self.wanted.set(resolution)
    }

    /// Delivers the events of the selected source, one after the other, until all sources have ended or the task is
    /// cancelled.
    ///
    /// - Throws: The error of a source that is not live and breaks, such as `inputUnreadable` when a recording cannot
    ///   be read. Such a source is not tried again.
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

    /// Handles the sources' events and starts and stops sources, as the state machine of the selection decides, until
    /// that machine ends the selection.
    ///
    /// - Returns: The error of a source that is not tried again; `nil` after the end of all sources or a cancellation.
    private func decide(
        _ group: inout DiscardingTaskGroup, _ waiter: Waiter, _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async -> TrackingError? {
        let gate = DeliveryGate()
        let inbox = SourceInbox<Event>(waiter)
        var runs: [Int: (run: Run, stop: Waiter)] = [:]
        var count = 0
        var accuracy = self.wanted.current?.accuracy ?? .high
        var machine = SourceSelectionStateMachine(self.sources.map(\.facts), accuracy: accuracy)
        var actions = machine.started(now: DeviceClock.now)
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
                case .deliver(let notice): await gate.pass { await deliver(.notice(notice)) }
                case .finish: return nil
                case .fail(let error): return error
                }
            }
            if Task.isCancelled { return nil }
            await self.wait(until: machine.deadline, waiter)
            actions = []
            for event in inbox.take() where runs[event.run.source]?.run == event.run {
                actions += Self.deliver(event, to: &machine)
            }
            if let wanted = self.wanted.current?.accuracy, wanted != accuracy {
                accuracy = wanted
                actions += machine.accuracyChanged(to: wanted, now: DeviceClock.now)
            }
            actions += machine.timerFired(now: DeviceClock.now)
        }
    }

    /// Waits until an event of a source arrives, the trackables need another resolution, or the deadline has passed.
    private func wait(until deadline: MonotonicTime?, _ waiter: Waiter) async {
        let id = deadline.map { Poller.shared.arm(Poller.Interest(deadline: $0), waiter) }
        _ = await waiter.next()
        if let id { Poller.shared.disarm(id) }
    }

    private static func deliver(
        _ event: Event, to machine: inout SourceSelectionStateMachine
    ) -> [SourceSelectionStateMachine.Action] {
        switch event.kind {
        case .delivered: machine.delivered(event.run.source, now: DeviceClock.now)
        case .broke(let error): machine.broke(event.run.source, error, now: DeviceClock.now)
        case .ended: machine.ended(event.run.source, now: DeviceClock.now)
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
            // The first task to finish cancels the other. A source that was stopped reports nothing more.
            let outcome = await group.next() ?? nil
            group.cancelAll()
            if let outcome, !Task.isCancelled { inbox.post(outcome) }
        }
    }
}
