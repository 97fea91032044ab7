/// The part of the state machine that asks for the client's credentials: before each attempt to connect, once more at
/// once after a refusal, and before the credentials of a connection expire.
extension ConnectionStateMachine {
    /// Handles that the provider returned the client's credentials.
    ///
    /// After a refusal, the client connects at once with other credentials. If they are the refused ones, the attempt
    /// counts as failed. While there is a connection, other credentials end it in order, and the client connects again
    /// with them.
    ///
    /// - Parameters:
    ///   - areNew: `true` if the credentials differ from those of the last attempt to connect.
    ///   - expiry: The time at which the credentials expire; `nil` if they do not expire, or at an unknown time.
    ///   - now: The time on the monotonic clock.
    /// - Returns: The actions that the caller must perform, in order.
    public mutating func credentialsReceived(
        areNew: Bool, expiry: MonotonicTime?, now: MonotonicTime
    ) -> [Action] {
        switch self.state {
        case .asking(let attempt, let refusal, _):
            if let refusal, !areNew { return self.failed(.refused(refusal), now: now) }
            self.renewal.prepare(expiry: expiry, now: now)
            return [self.connect(now: now, version: attempt.version)]
        case .online(_, let since, _):
            guard areNew else {
                self.renewal.answeredUnchanged(expiry: expiry, now: now)
                return []
            }
            self.renewal.prepare(expiry: expiry, now: now)
            self.hasCredentials = true
            self.state = .renewing(
                since: since, until: now.advanced(by: self.configuration.answerTimeout), isLeaving: false)
            return []
        case .idle, .connecting, .waiting, .renewing, .closing, .leaving, .ended:
            return []  // an answer to a question that was abandoned
        }
    }

    /// Handles that the provider failed to return the client's credentials. An attempt to connect counts as failed. An
    /// existing connection continues, and the client asks again later.
    ///
    /// - Returns: The actions that the caller must perform, in order.
    public mutating func credentialsUnavailable(_ error: TrackingError, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .asking(_, let refusal, _):
            return self.failed(refusal.map { .refused($0) } ?? .unreachable(error), now: now)
        case .online:
            self.renewal.failed(now: now)
            return []
        case .idle, .connecting, .waiting, .renewing, .closing, .leaving, .ended:
            return []  // an answer to a question that was abandoned
        }
    }

    /// Asks for the credentials of an attempt to connect.
    ///
    /// - Parameter refusal: The broker's reason for refusing the attempt with the last credentials; `nil` if the
    ///   attempt was not made yet.
    mutating func ask(for attempt: Attempt, after refusal: TrackingError?, now: MonotonicTime) -> Action {
        self.hasAskedAgain = self.hasAskedAgain || refusal != nil
        self.state = .asking(
            attempt, refusal: refusal, until: now.advanced(by: self.configuration.credentialsTimeout))
        return .askForCredentials
    }

    /// Returns the broker's reason for a refusal after which the client asks for other credentials at once; `nil` for
    /// another failure, or if the client has done so since its last connection.
    func refusalToAskAgain(_ failure: Failure) -> TrackingError? {
        guard self.configuration.asksForCredentials, !self.hasAskedAgain, case .refused(let error) = failure,
            [.badCredentials, .notAuthorized].contains(error.code)
        else { return nil }
        return error
    }

    /// Returns the failure of an attempt to connect for which the provider did not return credentials in time.
    func unansweredQuestion(after refusal: TrackingError?) -> Failure {
        if let refusal { return .refused(refusal) }
        return .unreachable(
            TrackingError(
                .inputUnreadable,
                "cannot connect to the broker: the provider of the credentials did not return them within \(self.configuration.credentialsTimeout). Check the provider"
            ))
    }

    /// Sends DISCONNECT on a connection that the client ends because it has new credentials.
    mutating func leaveToRenew(since: MonotonicTime, now: MonotonicTime) -> [Action] {
        self.state = .renewing(
            since: since, until: now.advanced(by: self.configuration.goodbyeTimeout), isLeaving: true)
        return [.sendGoodbye]
    }

    /// Connects again at once, to the same broker address, with the new credentials.
    mutating func renewed(since: MonotonicTime, now: MonotonicTime) -> [Action] {
        let lasted = since.duration(to: now)
        if lasted >= self.configuration.settlesAfter {
            self.backoff.reset()
            self.shortLives = 0
        }
        let event = Disconnection(reason: nil, retry: .zero, lasted: lasted)
        return [.deliver(.disconnected(event)), self.begin(now: now)]
    }
}
