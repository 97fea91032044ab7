extension ConnectionStateMachine {
    mutating func connect(now: MonotonicTime, version: Version? = nil) -> Action {
        let attempt = self.nextAttempt(version)
        self.hasCredentials = false
        self.state = .connecting(attempt, until: now.advanced(by: self.configuration.connectTimeout))
        return .connect(attempt)
    }

    /// Begins an attempt to connect: asks for credentials first, if they can change and are not known yet.
    mutating func begin(now: MonotonicTime) -> Action {
        guard self.configuration.asksForCredentials, !self.hasCredentials else { return self.connect(now: now) }
        return self.ask(for: self.nextAttempt(), after: nil, now: now)
    }

    private func nextAttempt(_ version: Version? = nil) -> Attempt {
        Attempt(
            endpoint: self.endpoint, version: version ?? self.version(of: self.endpoint), connection: self.connections,
            retainsWill: !self.withoutRetain.contains(self.endpoint))
    }

    func answerDeadline(_ unanswered: MonotonicTime?) -> MonotonicTime? {
        unanswered.map { $0.advanced(by: self.configuration.answerTimeout) }
    }

    private func version(of endpoint: Int) -> Version {
        self.configuration.pinnedVersion ?? self.known[endpoint] ?? .v5
    }

    /// Returns `true` when the client is to repeat a failed MQTT 5 attempt to connect with MQTT 3.1.1. This is the case
    /// when the broker refused the protocol version or closed the connection without an answer, and no version is
    /// pinned.
    ///
    /// A close without an answer counts only if the broker at this address never accepted MQTT 5 before. Otherwise the
    /// broker is probably just stopping.
    func fallsBack(_ attempt: Attempt, on failure: Failure) -> Bool {
        guard self.configuration.pinnedVersion == nil, attempt.version == .v5 else { return false }
        switch failure {
        case .refused(let error): return error.reasonCode == 0x84 || error.reasonCode == 0x01
        case .closedUnanswered: return self.known[attempt.endpoint] != .v5
        case .unreachable: return false
        }
    }

    /// Returns `true` when the broker refused a retained will, because it supports no retained messages (reason code
    /// 0x9A). The client then repeats the attempt with a will that is not retained.
    func refusesRetain(_ attempt: Attempt, _ failure: Failure) -> Bool {
        guard attempt.retainsWill, case .refused(let error) = failure else { return false }
        return error.reasonCode == 0x9A
    }

    /// Handles a failed attempt to connect. The client connects to the next broker address at once. When all addresses
    /// were tried, it waits first.
    mutating func failed(_ failure: Failure, now: MonotonicTime) -> [Action] {
        self.endpoint = (self.endpoint + 1) % self.configuration.endpoints
        self.triedInRound += 1
        let isRoundOver = self.triedInRound >= self.configuration.endpoints
        let wait = isRoundOver ? self.nextWait(after: failure.error) : .zero
        let event = Disconnection(reason: failure.error, retry: wait, lasted: nil)
        guard isRoundOver else { return [.deliver(.disconnected(event)), self.begin(now: now)] }
        self.triedInRound = 0
        self.state = .waiting(until: now.advanced(by: wait))
        return [.deliver(.disconnected(event))]
    }

    /// Handles a lost connection. The client waits and connects again. It uses the same broker address if the
    /// connection lasted at least ``Configuration/settlesAfter``, and otherwise the next address.
    ///
    /// - Parameter isSilent: `true` if the broker did not answer. The client then uses the next address: a broker that
    ///   is frozen, or cut off, would let the attempt at its address wait for ``Configuration/connectTimeout``.
    mutating func lost(
        _ reason: TrackingError, isSilent: Bool = false, since: MonotonicTime, now: MonotonicTime
    ) -> [Action] {
        let lasted = since.duration(to: now)
        self.renewal.disconnected()
        // The next attempt may begin much later.
        self.hasCredentials = false
        let isShort = lasted < self.configuration.settlesAfter
        if isShort || isSilent { self.endpoint = (self.endpoint + 1) % self.configuration.endpoints }
        if !isShort {
            self.backoff.reset()
            self.shortLives = 0
        } else {
            // A malformed packet (0x81) is no sign of a second program with the same client id.
            self.shortLives += reason.code == .notAuthorized || reason.reasonCode == 0x81 ? 0 : 1
        }
        let wait = self.nextWait(after: reason)
        self.state = .waiting(until: now.advanced(by: wait))
        let reported = self.shortLives >= self.configuration.suspiciousCloses ? self.suspicion(of: reason) : reason
        return [.deliver(.disconnected(Disconnection(reason: self.withRemedy(reported), retry: wait, lasted: lasted)))]
    }

    private func withRemedy(_ reason: TrackingError) -> TrackingError {
        guard reason.code == .takenOver, let remedy = self.configuration.takeoverRemedy else { return reason }
        return TrackingError(.takenOver, "\(reason.message). \(remedy)", reasonCode: reason.reasonCode)
    }

    private func suspicion(of reason: TrackingError) -> TrackingError {
        guard reason.code != .takenOver else { return reason }
        return TrackingError(
            .takenOver,
            """
            \(self.shortLives) connections in a row were closed, each within \(self.configuration.settlesAfter): \
            another program probably uses the same client id. Give each program its own client id (\(reason.message))
            """, reasonCode: reason.reasonCode)
    }

    /// Returns the wait before the next attempt to connect, which grows with each failure. Its limit is
    /// ``Configuration/longestRefusedWait`` when the broker refused the client's id, credentials or rights, and
    /// otherwise ``Configuration/longestWait``.
    private mutating func nextWait(after error: TrackingError) -> Duration {
        let longest =
            error.isIdentityRefusal ? self.configuration.longestRefusedWait : self.configuration.longestWait
        return self.backoff.next(atMost: longest, using: &self.generator)
    }

    mutating func leave(since: MonotonicTime, now: MonotonicTime) -> [Action] {
        self.state = .leaving(since: since, until: now.advanced(by: self.configuration.goodbyeTimeout))
        return [.sendGoodbye]
    }

    mutating func end(_ reason: TrackingError?, since: MonotonicTime?, now: MonotonicTime) -> [Action] {
        self.state = .ended
        let lasted = since.map { $0.duration(to: now) }
        return [.deliver(.disconnected(Disconnection(reason: reason, retry: nil, lasted: lasted))), .finish]
    }
}
