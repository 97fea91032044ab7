import TrackingCore

/// The right of this publisher to publish one trackable: its standing at the broker, and the state that the caller
/// knows.
struct PublishingStatus: Sendable {
    /// The standing of this publisher with one trackable.
    enum Standing: Hashable, Sendable {
        /// No presence was published on this connection. Can transition to: `announced`, `rejected`, `failed`.
        case unannounced
        /// The presence was published on this connection. Can transition to: `unannounced`, `rejected`, `failed`.
        case announced(Confirmation)
        /// The broker's rules forbid the trackable for now. Can transition to: `unannounced`, `announced`, `failed`.
        case rejected(Rejection)
        /// Another publisher owns the trackable, or the broker can never accept its name. Final.
        case failed(TrackingError)
    }

    /// The messages of this connection that came back or were acknowledged.
    struct Confirmation: Hashable, Sendable {
        /// `true` after the broker delivered the own presence.
        var isPresenceReceived = false
        /// `true` after the broker acknowledged an update.
        var isUpdateAcknowledged = false
    }

    /// A rejection by the broker's rules.
    struct Rejection: Hashable, Sendable {
        /// The broker's reason.
        var error: TrackingError
        /// The moment of the next attempt.
        var retryAt: MonotonicTime
        /// The backoff with this rejection, which counts from that attempt on.
        var backoff: Backoff
        /// The confirmation of a trackable that was announced on this connection; `nil` of one that was not.
        var confirmation: Confirmation?
    }

    /// The state that the caller received last.
    struct Report: Hashable, Sendable {
        var state = PublisherState.offline
        var reason: TrackingError.Code?
    }

    /// The standing now.
    private(set) var standing = Standing.unannounced
    /// The beginning of this publisher's claim, which others receive in its presence; `nil` before the first
    /// announcement. The publisher with the latest claim owns the trackable.
    var since: UnixTime?
    /// The waits after rejections; the broker's acknowledgement of an update ends them.
    private var backoff = Backoff(first: .seconds(1), maximum: .seconds(900))
    /// The state that the caller received last.
    var reported = Report()

    /// The reason why nothing of the trackable is published any more; `nil` while it did not fail.
    var failure: TrackingError? { if case .failed(let error) = self.standing { error } else { nil } }

    /// The rejection that is waited out; `nil` where there is none.
    var rejection: Rejection? { if case .rejected(let rejection) = self.standing { rejection } else { nil } }

    /// `true` while this side may publish the trackable, given a connection that is announced.
    var isSending: Bool { if case .announced = self.standing { self.since != nil } else { false } }

    /// `true` while the trackable is announced and its presence came back on this connection.
    var isPresenceConfirmed: Bool {
        if case .announced(let confirmation) = self.standing { confirmation.isPresenceReceived } else { false }
    }

    /// `true` while records may be published. The backlog of a superseded publisher may still be published.
    func isOpenForRecords(isAnnounced: Bool, isAlive: Bool) -> Bool {
        guard isAnnounced else { return false }
        if let failure = self.failure { return failure.code == .takenOver && isAlive }
        return self.isSending && self.isPresenceConfirmed
    }

    /// The state of the trackable.
    ///
    /// - Parameters:
    ///   - isConnected: `true` while there is a connection, and the publisher is on.
    ///   - isAlive: `true` after the own liveness came back on this connection.
    func state(isConnected: Bool, isAlive: Bool) -> PublisherState {
        switch self.standing {
        case .failed: return .failed
        case .rejected: return .offline
        case .unannounced: return isConnected ? .publishing : .offline
        case .announced(let confirmation):
            guard isConnected else { return .offline }
            return isAlive && confirmation.isPresenceReceived && confirmation.isUpdateAcknowledged
                ? .online : .publishing
        }
    }

    /// Claims the trackable: with the greater of the clock and a little after the latest claim of `others`. Where no
    /// later time can be encoded, the session id decides.
    mutating func claim(after others: OtherPublishers, now wall: UnixTime) {
        let latest = others.presences.map(\.since).max()
        let after = latest.map { UnixTime($0.seconds + 0.001) } ?? wall
        self.since = min(max(wall, after), WireLimits.latestTime)
    }

    /// Returns `true` where the claim of another publisher is later than the own one. The greater session id decides a
    /// tie.
    func isBehind(_ other: Presence, _ session: SessionID) -> Bool {
        self.since.map { (other.since, other.session) > ($0, session) } ?? false
    }

    /// The trackable begins on this connection.
    mutating func announced() {
        guard case .unannounced = self.standing else { return }
        self.standing = .announced(Confirmation())
    }

    /// The connection was lost.
    mutating func connectionLost() {
        switch self.standing {
        case .announced: self.standing = .unannounced
        case .rejected(var rejection):
            rejection.confirmation = nil
            self.standing = .rejected(rejection)
        case .unannounced, .failed: break
        }
    }

    /// The own presence came back on this connection.
    mutating func presenceReceived() { self.confirm { $0.isPresenceReceived = true } }

    /// The broker acknowledged an update, or a batch where nothing is published live.
    ///
    /// - Parameter endsBackoff: `true` where the next rejection begins with the shortest wait again.
    mutating func updateAcknowledged(endsBackoff: Bool) {
        self.confirm { $0.isUpdateAcknowledged = true }
        if endsBackoff { self.backoff.reset() }
    }

    private mutating func confirm(_ change: (inout Confirmation) -> Void) {
        switch self.standing {
        case .announced(var confirmation):
            change(&confirmation)
            self.standing = .announced(confirmation)
        case .rejected(var rejection):
            guard rejection.confirmation != nil else { return }
            change(&rejection.confirmation!)
            self.standing = .rejected(rejection)
        case .unannounced, .failed: break
        }
    }

    /// The broker's rules forbid the trackable. The next attempt waits, at most 15 minutes. A second rejection before
    /// that attempt changes nothing.
    mutating func rejected(_ error: TrackingError, now: MonotonicTime) {
        let confirmation: Confirmation?
        switch self.standing {
        case .unannounced: confirmation = nil
        case .announced: confirmation = Confirmation()
        case .rejected, .failed: return
        }
        var backoff = self.backoff
        let retryAt = now.advanced(by: backoff.next())
        self.standing = .rejected(
            Rejection(error: error, retryAt: retryAt, backoff: backoff, confirmation: confirmation))
    }

    /// Ends the wait after a rejection.
    ///
    /// - Returns: `false` where there was no rejection.
    mutating func retry() -> Bool {
        guard let rejection = self.rejection else { return false }
        self.backoff = rejection.backoff
        self.standing = rejection.confirmation.map { .announced($0) } ?? .unannounced
        return true
    }

    /// Nothing of the trackable is published any more.
    mutating func failed(_ error: TrackingError) { self.standing = .failed(error) }

    /// Records a state as received by the caller.
    ///
    /// - Parameters:
    ///   - reason: The reason for being offline; `nil` where nothing is known.
    ///   - isConnectionRejected: `true` while the broker rejects this device as a whole.
    /// - Returns: The state and its reason, where the caller does not know them yet.
    mutating func report(
        _ state: PublisherState, reason: TrackingError?, isConnectionRejected: Bool
    ) -> (state: PublisherState, reason: TrackingError?)? {
        let (failure, rejection) = (self.failure, self.rejection?.error)
        let why = failure ?? rejection ?? (state == .offline ? reason : nil)
        // The first reason is delivered as well, and a rejection; not each way in which there is no connection.
        let isRejected = failure != nil || rejection != nil || isConnectionRejected
        let isNewReason =
            why != nil && why?.code != self.reported.reason && (isRejected || self.reported.reason == nil)
        guard state != self.reported.state || isNewReason else { return nil }
        self.reported = Report(state: state, reason: why?.code)
        return (state, why)
    }
}
