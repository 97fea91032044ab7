/// Decides when a connected client asks for new credentials, because those of its connection expire.
///
/// The client asks before the expiry: a tenth of the credentials' lifetime earlier, and 60 s earlier at most. The
/// lifetime counts from the receipt of the credentials. While the answer contains the same credentials, the client asks
/// again each time that half of the remaining time has passed, but at least 1 s after the answer. After the expiry, it
/// asks no more.
struct CredentialRenewal: Hashable, Sendable {
    private enum State: Hashable, Sendable {
        /// No question is due: the credentials do not expire, they have expired, or there is no connection. Can
        /// transition to: `waiting`.
        case idle
        /// The client asks for new credentials at this time. Can transition to: `idle`, `asking`.
        case waiting(until: MonotonicTime)
        /// The client has asked for new credentials, and waits for the answer up to this time. Can transition to:
        /// `idle`, `waiting`.
        case asking(until: MonotonicTime)
    }

    /// The longest time between the first question and the expiry.
    static let longestMargin: Duration = .seconds(60)
    /// The part of the lifetime that remains when the client asks first, as a divisor.
    static let marginDivisor = 10
    /// The shortest lifetime of credentials that are renewed. Credentials with a shorter one are used until the broker
    /// ends the connection, so that the client does not connect again all the time.
    static let shortestLifetime: Duration = .seconds(5)
    /// The shortest time between an answer with the same credentials and the next question.
    static let shortestWait: Duration = .seconds(1)

    private let answerTimeout: Duration
    private var state = State.idle
    private var expiry: MonotonicTime?
    private var received = MonotonicTime(.zero)

    /// Makes a renewal without credentials.
    ///
    /// - Parameter answerTimeout: The longest time for the answer to a question.
    init(answerTimeout: Duration) { self.answerTimeout = answerTimeout }

    /// The time at which the caller must call ``timerFired(now:)``; `nil` when no question is due or unanswered.
    var nextDeadline: MonotonicTime? {
        switch self.state {
        case .idle: nil
        case .waiting(let until), .asking(let until): until
        }
    }

    /// Stores the expiry of the credentials for the next connection; `nil` for credentials that do not expire.
    mutating func prepare(expiry: MonotonicTime?, now: MonotonicTime) {
        (self.expiry, self.received) = (expiry, now)
        self.state = .idle
    }

    /// Handles that the broker accepted a connection with the prepared credentials.
    mutating func connected() {
        guard let expiry = self.expiry else { return self.state = .idle }
        let lifetime = self.received.duration(to: expiry)
        guard lifetime >= Self.shortestLifetime else { return self.state = .idle }
        let margin = min(Self.longestMargin, lifetime / Self.marginDivisor)
        self.state = .waiting(until: expiry.advanced(by: .zero - margin))
    }

    /// Handles that the connection ended. No question follows until the next connection.
    mutating func disconnected() { self.state = .idle }

    /// Handles that the time ``nextDeadline`` has come.
    ///
    /// - Returns: `true` if the client must ask for new credentials now.
    mutating func timerFired(now: MonotonicTime) -> Bool {
        switch self.state {
        case .waiting(let until) where now >= until:
            self.state = .asking(until: now.advanced(by: self.answerTimeout))
            return true
        case .asking(let until) where now >= until:
            self.askLater(now: now)
            return false
        case .idle, .waiting, .asking:
            return false
        }
    }

    /// Handles an answer with the same credentials. A later expiry in the answer counts from now on.
    mutating func answeredUnchanged(expiry: MonotonicTime?, now: MonotonicTime) {
        guard case .asking = self.state else { return }
        let isLater = expiry.map { new in self.expiry.map { new > $0.advanced(by: Self.shortestWait) } ?? true }
        guard isLater == true else { return self.askLater(now: now) }
        self.prepare(expiry: expiry, now: now)
        self.connected()
    }

    /// Handles that there is no answer: the provider of the credentials failed.
    mutating func failed(now: MonotonicTime) {
        guard case .asking = self.state else { return }
        self.askLater(now: now)
    }

    /// Schedules the next question. After the expiry no question follows, because the broker does not enforce it.
    private mutating func askLater(now: MonotonicTime) {
        guard let expiry = self.expiry, now < expiry else { return self.state = .idle }
        self.state = .waiting(until: now.advanced(by: max(Self.shortestWait, now.duration(to: expiry) / 2)))
    }
}
