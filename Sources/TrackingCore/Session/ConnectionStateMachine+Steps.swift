extension ConnectionStateMachine {
    mutating func connect(now: MonotonicTime, version: Version? = nil) -> Action {
        let attempt = Attempt(
            endpoint: self.endpoint, version: version ?? self.version(of: self.endpoint), connection: self.connections,
            retainsWill: !self.withoutRetain.contains(self.endpoint))
        self.state = .connecting(attempt, until: now.advanced(by: self.configuration.connectTimeout))
        return .connect(attempt)
    }

    private func version(of endpoint: Int) -> Version {
        self.configuration.pinnedVersion ?? self.known[endpoint] ?? .v5
    }

    /// A version is remembered once it is accepted: a broker that closes because it is going down does not cost MQTT 5,
    /// where MQTT 5 was accepted before or 3.1.1 does not fare better.
    func fallsBack(_ attempt: Attempt, on failure: Failure) -> Bool {
        guard self.configuration.pinnedVersion == nil, attempt.version == .v5 else { return false }
        switch failure {
        case .refused(let error): return error.reasonCode == 0x84 || error.reasonCode == 0x01
        case .closedUnanswered: return self.known[attempt.endpoint] != .v5
        case .unreachable: return false
        }
    }

    /// Whether the broker keeps no messages (0x9A) and was asked to keep the will: it is worth a try without that.
    func refusesRetain(_ attempt: Attempt, _ failure: Failure) -> Bool {
        guard attempt.retainsWill, case .refused(let error) = failure else { return false }
        return error.reasonCode == 0x9A
    }

    /// The other endpoints are tried at once; when all were, there is a wait.
    mutating func failed(_ failure: Failure, now: MonotonicTime) -> [Action] {
        self.endpoint = (self.endpoint + 1) % self.configuration.endpoints
        self.triedInRound += 1
        let isRoundOver = self.triedInRound >= self.configuration.endpoints
        let wait = isRoundOver ? self.nextWait(after: failure.error) : .zero
        let event = Disconnection(reason: failure.error, retry: wait, lasted: nil)
        guard isRoundOver else { return [.tell(.disconnected(event)), self.connect(now: now)] }
        self.triedInRound = 0
        self.state = .waiting(until: now.advanced(by: wait))
        return [.tell(.disconnected(event))]
    }

    /// A connection that stood a while is tried again where it was; one that did not, at the next endpoint.
    mutating func lost(_ reason: TrackingError, since: MonotonicTime, now: MonotonicTime) -> [Action] {
        let lasted = since.duration(to: now)
        if lasted >= self.configuration.settlesAfter {
            self.round = 0
            self.shortLives = 0
        } else {
            self.endpoint = (self.endpoint + 1) % self.configuration.endpoints
            // A malformed packet (0x81) is not how a second program with the same client id shows.
            self.shortLives += reason.code == .notAuthorized || reason.reasonCode == 0x81 ? 0 : 1
        }
        let wait = self.nextWait(after: reason)
        self.state = .waiting(until: now.advanced(by: wait))
        let told = self.shortLives >= self.configuration.suspiciousCloses ? self.suspicion(of: reason) : reason
        return [.tell(.disconnected(Disconnection(reason: self.withRemedy(told), retry: wait, lasted: lasted)))]
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
            \(self.shortLives) connections in a row were closed within \(self.configuration.settlesAfter): \
            another program probably uses the same client id (\(reason.message))
            """, reasonCode: reason.reasonCode)
    }

    /// Between a half and the whole of a ceiling that doubles.
    private mutating func nextWait(after error: TrackingError) -> Duration {
        let longest =
            error.isAboutWhoWeAre ? self.configuration.longestRefusedWait : self.configuration.longestWait
        let ceiling = min(longest, self.configuration.firstWait * (1 << min(self.round, 24)))
        self.round += 1
        return ceiling * Double.random(in: 0.5...1, using: &self.generator)
    }

    mutating func leave(since: MonotonicTime, now: MonotonicTime) -> [Action] {
        self.state = .leaving(since: since, until: now.advanced(by: self.configuration.goodbyeTimeout))
        return [.sendGoodbye]
    }

    mutating func end(_ reason: TrackingError?, since: MonotonicTime?, now: MonotonicTime) -> [Action] {
        self.state = .ended
        let lasted = since.map { $0.duration(to: now) }
        return [.tell(.disconnected(Disconnection(reason: reason, retry: nil, lasted: lasted))), .finish]
    }
}
