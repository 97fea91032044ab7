package import TrackingCore
package import TrackingStore

/// Decides for one of several recorders of the same name when it is active: when it asks for the lease in the database,
/// when it begins to receive messages, and when it must stop. Touches no network, database or clock.
///
/// The lease is valid for ``RecorderLease/duration`` from the moment at which it was requested. The recorder stops
/// ``margin`` earlier, so that it has stopped before another recorder can get the lease.
package struct StandbyStateMachine: Sendable {
    /// An input of the state machine.
    package enum Event: Sendable {
        /// The database has answered the request for the lease.
        case answered(RecorderLease.Answer)
        /// The request for the lease has failed.
        case failed(TrackingError)
        /// The connection on which the active recorder receives messages was made (`true`), or was lost or could not be
        /// made (`false`).
        case broker(isConnected: Bool)
        /// The active recorder has ended. The value is the error after which the program waits and tries again, for
        /// example because another program uses its name; `nil` if the program must end.
        case recorderEnded(TrackingError?)
        /// The deadline ``StandbyStateMachine/nextDeadline`` has passed.
        case timer
        /// The program is asked to end. An active recorder stores what it has received, and ends by itself.
        case stop
    }

    /// An output of the state machine, which the program performs.
    package enum Action: Hashable, Sendable {
        /// Request the lease from the database, for the first time or again. The program answers with the event
        /// `answered` or `failed`.
        case claim
        /// Start a recorder. The program answers with `recorderEnded` when it ends.
        case start
        /// Abandon the running recorder (``Recorder/abandon()``).
        case abandon
        /// Close the connections of the history store, because the database may have moved to another server.
        case reconnect
        /// Release the lease, so that another recorder can get it at once.
        case release
        /// Report this change to people.
        case report(StandbyChange)
    }

    /// The phase of a recorder that shares its name with others.
    package enum Phase: Hashable, Sendable {
        /// Another recorder is active, or the lease was not requested yet. The recorder requests the lease at the time
        /// `claimAt`. Can transition to: `active`, `ended`.
        case waiting(claimAt: MonotonicTime)
        /// The recorder has the lease and receives messages, at most until `until`. It requests the lease again at the
        /// time `claimAt`. Can transition to: `leaving`, `waiting`, `ended`.
        case active(until: MonotonicTime, claimAt: MonotonicTime)
        /// The recorder was abandoned and has not ended yet. `releases` is `true` if it still has the lease and gives it
        /// to another recorder. Can transition to: `waiting`, `ended`.
        case leaving(releases: Bool)
        /// The program ends. Final.
        case ended
    }

    /// The time between two requests of an active recorder for the lease.
    static let renewal = Duration.seconds(5)
    /// The longest time between two requests of a waiting recorder for the lease.
    static let pollInterval = Duration.seconds(2)
    /// The shortest time between two requests of a waiting recorder for the lease.
    static let shortestWait = Duration.milliseconds(100)
    /// The time from a failed request for the lease to the next one.
    static let retryWait = Duration.seconds(1)
    /// The time by which a recorder stops before its lease ends.
    static let margin = Duration.seconds(2)
    /// The time without a connection to the broker after which an active recorder gives up the lease.
    package static let brokerPatience = Duration.seconds(10)
    /// The time for which a recorder leaves the lease to others after it gave the lease up.
    static let pause = Duration.seconds(5)

    /// The phase of the recorder: waiting, active, leaving or ended.
    package private(set) var phase: Phase
    /// The time of the request for the lease that the database has not answered yet; `nil` without such a request.
    private var claimedAt: MonotonicTime?
    /// `true` if the lease was released after the request that the database has not answered yet.
    private var ignoresAnswer = false
    /// The time since which the active recorder has no connection to the broker; `nil` while it has one.
    private var disconnectedSince: MonotonicTime?
    private var isStopping = false
    /// `true` after a request for the lease failed, until the database answers again.
    private var hasFailed = false
    /// `true` after the state machine has reported that another recorder is active, until this one becomes active.
    private var hasReportedWaiting = false

    /// Creates the state machine of a recorder that requests the lease at once.
    package init(now: MonotonicTime) { self.phase = .waiting(claimAt: now) }

    /// `true` while the recorder waits for the lease, and does not receive messages.
    package var isWaiting: Bool { if case .waiting = self.phase { true } else { false } }

    /// `true` once the program must end.
    package var isEnded: Bool { self.phase == .ended }

    /// The time at which the program must give the event `timer` to the state machine; `nil` for no such time.
    package var nextDeadline: MonotonicTime? {
        switch self.phase {
        case .waiting(let claimAt): self.claimedAt == nil ? claimAt : nil
        case .active(let until, let claimAt):
            .earlier(.earlier(until, self.claimedAt == nil ? claimAt : nil), self.disconnectedLimit)
        case .leaving, .ended: nil
        }
    }

    private var disconnectedLimit: MonotonicTime? { self.disconnectedSince?.advanced(by: Self.brokerPatience) }

    /// Handles an answer of the database, a change of the recorder, the timer, or the end of the program.
    ///
    /// - Returns: The actions that the program must perform, in order.
    package mutating func happened(_ event: Event, now: MonotonicTime) -> [Action] {
        guard !self.isEnded else { return [] }
        var actions: [Action] = []
        switch event {
        case .answered(let answer): actions = self.answered(answer, now: now)
        case .failed(let error): actions = self.failed(error, now: now)
        case .broker(let isConnected): self.disconnectedSince = isConnected ? nil : self.disconnectedSince ?? now
        case .recorderEnded(let error): actions = self.recorderEnded(error, now: now)
        case .timer: break
        case .stop:
            self.isStopping = true
            if self.isWaiting { self.phase = .ended }
        }
        return actions + self.leaveIfDue(now: now) + self.claimIfDue(now: now)
    }

    private mutating func answered(_ answer: RecorderLease.Answer, now: MonotonicTime) -> [Action] {
        guard let claimedAt = self.claimedAt.take() else { return [] }
        let hadFailed = self.hasFailed
        self.hasFailed = false
        if self.ignoresAnswer {
            self.ignoresAnswer = false
            return answer == .held ? self.releaseAgain(now: now) : []
        }
        let until = claimedAt.advanced(by: RecorderLease.duration - Self.margin)
        let next = claimedAt.advanced(by: Self.renewal)
        switch (self.phase, answer) {
        case (.waiting, .held):
            // The answer may have come too late, for example because the program was suspended.
            guard now < until else { return [] }
            self.phase = .active(until: until, claimAt: next)
            (self.disconnectedSince, self.hasReportedWaiting) = (now, false)
            return [.reconnect, .start, .report(.active)]
        case (.waiting, .heldByAnother(let remaining)):
            let wait = min(Self.pollInterval, max(Self.shortestWait, remaining + Self.shortestWait))
            self.phase = .waiting(claimAt: now.advanced(by: wait))
            guard !self.hasReportedWaiting else { return [] }
            self.hasReportedWaiting = true
            return [.report(.waiting)]
        case (.active(let known, _), .held):
            self.phase = .active(until: max(known, until), claimAt: next)
            return hadFailed ? [.reconnect] : []
        case (.active, .heldByAnother): return self.leave(.superseded, releases: false)
        case (.leaving, _), (.ended, _): return []
        }
    }

    /// Releases the lease that a request got after the lease had been released. The next request follows only later,
    /// so that the database gets the release first.
    private mutating func releaseAgain(now: MonotonicTime) -> [Action] {
        guard case .waiting(let claimAt) = self.phase else { return [] }
        self.phase = .waiting(claimAt: max(claimAt, now.advanced(by: Self.retryWait)))
        return [.release]
    }

    private mutating func failed(_ error: TrackingError, now: MonotonicTime) -> [Action] {
        self.claimedAt = nil
        if self.ignoresAnswer {
            self.ignoresAnswer = false
            return []
        }
        let next = now.advanced(by: Self.retryWait)
        switch self.phase {
        case .waiting: self.phase = .waiting(claimAt: next)
        case .active(let until, _): self.phase = .active(until: until, claimAt: next)
        case .leaving, .ended: return []
        }
        defer { self.hasFailed = true }
        return self.hasFailed ? [] : [.report(.databaseAway(error))]
    }

    private mutating func recorderEnded(_ error: TrackingError?, now: MonotonicTime) -> [Action] {
        self.disconnectedSince = nil
        switch self.phase {
        case .active:
            guard let error, !self.isStopping else {
                self.phase = .ended
                return []
            }
            self.phase = .waiting(claimAt: now.advanced(by: Self.pause))
            self.ignoresAnswer = self.claimedAt != nil
            return [.release, .report(.lost(.failed(error)))]
        case .leaving where self.isStopping: self.phase = .ended
        case .leaving(let releases):
            self.phase = .waiting(claimAt: releases ? now.advanced(by: Self.pause) : now)
            guard releases else { return [] }
            self.ignoresAnswer = self.claimedAt != nil
            return [.release]
        case .waiting, .ended: break
        }
        return []
    }

    /// Abandons the active recorder if its lease ends, or if it has had no connection to the broker for too long.
    private mutating func leaveIfDue(now: MonotonicTime) -> [Action] {
        guard case .active(let until, _) = self.phase else { return [] }
        if until <= now { return self.leave(.expired, releases: false) }
        guard let limit = self.disconnectedLimit, limit <= now, !self.isStopping else { return [] }
        return self.leave(.disconnected, releases: true)
    }

    private mutating func leave(_ reason: StandbyChange.Loss, releases: Bool) -> [Action] {
        self.phase = .leaving(releases: releases)
        return [.abandon, .report(.lost(reason))]
    }

    private mutating func claimIfDue(now: MonotonicTime) -> [Action] {
        guard self.claimedAt == nil else { return [] }
        switch self.phase {
        case .waiting(let claimAt) where claimAt <= now, .active(_, let claimAt) where claimAt <= now:
            self.claimedAt = now
            return [.claim]
        case .waiting, .active, .leaving, .ended: return []
        }
    }
}

/// A change of one of several recorders of the same name that is reported to people.
package enum StandbyChange: Hashable, Sendable {
    /// The reason for which an active recorder stops.
    package enum Loss: Hashable, Sendable {
        /// The recorder could not renew its lease in time, because the database did not answer or the program was
        /// suspended.
        case expired
        /// Another recorder has the lease.
        case superseded
        /// The recorder ended with this error, for example because another program uses its name at the broker.
        case failed(TrackingError)
        /// The recorder had no connection to the broker, and leaves the lease to another recorder.
        case disconnected
    }

    /// Another recorder has the lease, and this recorder waits.
    case waiting
    /// This recorder has the lease, and begins to receive messages.
    case active
    /// This recorder stops receiving messages.
    case lost(Loss)
    /// The lease cannot be requested, because the database cannot be reached or gives no answer.
    case databaseAway(TrackingError)
}
