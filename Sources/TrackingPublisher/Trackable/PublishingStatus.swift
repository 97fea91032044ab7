import TrackingCore

/// The status of this publisher for one trackable: if it may publish the trackable, and the state that the caller
/// received last.
struct PublishingStatus: Sendable {
    /// The standing of this publisher for one trackable: unannounced, announced, rejected or failed.
    enum Standing: Hashable, Sendable {
        /// The publisher has not announced the trackable on this connection. Can transition to: `announced`,
        /// `rejected`, `failed`.
        case unannounced
        /// The presence was published on this connection. Can transition to: `unannounced`, `rejected`, `failed`.
        case announced(Confirmation)
        /// The broker's access rules reject the trackable; a retry is planned. Can transition to: `unannounced`,
        /// `announced`, `failed`.
        case rejected(Rejection)
        /// Another publisher owns the trackable, or the broker can never accept its name. Final.
        case failed(TrackingError)
    }

    /// Two proofs that the broker handles this trackable's messages on this connection: it delivered the publisher's
    /// own presence message, and it acknowledged an update.
    struct Confirmation: Hashable, Sendable {
        /// `true` after the broker delivered this publisher's own presence message to it.
        var isPresenceReceived = false
        /// `true` after the broker acknowledged an update or, without live positions, a batch of records.
        var isUpdateAcknowledged = false
    }

    /// A rejection of the trackable by the broker's access rules, with the time of the next attempt.
    struct Rejection: Hashable, Sendable {
        /// The reason that the broker gave for rejecting the trackable.
        var error: TrackingError
        /// The moment of the next attempt to publish the rejected trackable.
        var retryAt: MonotonicTime
        /// The growing waits between attempts, advanced by this rejection: the next wait is longer. They replace the
        /// waits of the status once the next attempt begins.
        var backoff: Backoff
        /// The proofs (of this publisher's presence and of an update) that arrived since the rejection; the next
        /// attempt continues with them. `nil` if the trackable was not announced on this connection before the
        /// rejection.
        var confirmation: Confirmation?
    }

    /// A state of the trackable as it was delivered to the caller, with the code of its reason.
    struct Report: Hashable, Sendable {
        var state = PublisherState.offline
        var reason: TrackingError.Code?
    }

    /// The present standing of this publisher for the trackable: unannounced, announced, rejected or failed.
    private(set) var standing = Standing.unannounced
    /// The time from which this publisher claims the trackable; `nil` before the first announcement, and
    /// after the publisher was switched off.
    ///
    /// The presence message contains it. The publisher with the latest claim owns the trackable.
    var since: UnixTime?
    /// The growing waits after rejections of the trackable by the broker. After the broker acknowledged an update, the
    /// next rejection begins with the shortest wait again.
    private var backoff = Backoff(first: .seconds(1), maximum: .seconds(900))
    /// The trackable's state that was delivered last to the caller, with the code of its reason.
    var reported = Report()

    /// The reason why no new position of the trackable is published any more; `nil` while the trackable has not failed.
    var failure: TrackingError? { if case .failed(let error) = self.standing { error } else { nil } }

    /// The broker's rejection of the trackable, while the publisher waits for the next attempt; `nil` if the trackable
    /// is not rejected now.
    var rejection: Rejection? { if case .rejected(let rejection) = self.standing { rejection } else { nil } }

    /// `true` if the trackable is announced and claimed on this connection, so that this publisher may publish it.
    var isSending: Bool { if case .announced = self.standing { self.since != nil } else { false } }

    /// `true` if the trackable is announced and the broker delivered this publisher's own presence message on this
    /// connection.
    var isPresenceConfirmed: Bool {
        if case .announced(let confirmation) = self.standing { confirmation.isPresenceReceived } else { false }
    }

    /// Returns `true` if batches of records may be published. They may also be sent by a publisher that is no longer
    /// the owner.
    ///
    /// - Parameters:
    ///   - isAnnounced: `true` while the publisher is announced on a connection.
    ///   - isAlive: `true` after the broker delivered this publisher's own liveness message on this connection.
    func isOpenForRecords(isAnnounced: Bool, isAlive: Bool) -> Bool {
        guard isAnnounced else { return false }
        if let failure = self.failure { return failure.code == .takenOver && isAlive }
        return self.isSending && self.isPresenceConfirmed
    }

    /// Returns the trackable's state for the caller.
    ///
    /// - Parameters:
    ///   - isConnected: `true` while there is a connection and the publisher is on.
    ///   - isAlive: `true` after the broker delivered this publisher's own liveness message on this connection.
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

    /// Claims the trackable from the present time on, or from 1 ms after the latest claim of other publishers if that
    /// is later.
    ///
    /// The time of a claim is at most the latest time that a message can contain. Two claims of that time are equal,
    /// and the greater session id decides.
    mutating func claim(after others: OtherPublishers, now wall: UnixTime) {
        let latest = others.presences.map(\.since).max()
        let after = latest.map { UnixTime($0.seconds + 0.001) } ?? wall
        self.since = min(max(wall, after), WireLimits.latestTime)
    }

    /// Returns `true` if another publisher's claim of the trackable wins over this publisher's claim. The later claim
    /// wins, and of equally late claims the one with the greater session id. Returns `false` before this publisher's
    /// first claim.
    func isBehind(_ other: Presence, _ session: SessionID) -> Bool {
        self.since.map { (other.since, other.session) > ($0, session) } ?? false
    }

    /// Marks the trackable as announced on this connection if it is unannounced. Does nothing if it is announced,
    /// rejected or failed.
    mutating func announced() {
        guard case .unannounced = self.standing else { return }
        self.standing = .announced(Confirmation())
    }

    /// Handles that the connection was lost. An announced trackable becomes unannounced. A rejected or failed one stays
    /// so.
    mutating func connectionLost() {
        switch self.standing {
        case .announced: self.standing = .unannounced
        case .rejected(var rejection):
            rejection.confirmation = nil
            self.standing = .rejected(rejection)
        case .unannounced, .failed: break
        }
    }

    /// Handles that the broker delivered this publisher's own presence message on this connection.
    mutating func presenceReceived() { self.confirm { $0.isPresenceReceived = true } }

    /// Handles that the broker acknowledged an update of the trackable, or, without live positions, a batch of its
    /// records. The trackable can then be reported as online.
    ///
    /// - Parameter endsBackoff: `true` if the next rejection begins with the shortest wait again.
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

    /// Handles that the broker's access rules reject the trackable. A retry is planned after a growing wait of at most
    /// 15 minutes.
    ///
    /// Further rejections before that retry change nothing.
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

    /// Ends the rejection of the trackable, because the next attempt to publish it begins. The trackable then counts as
    /// announced or unannounced again, as before the rejection.
    ///
    /// - Returns: `false` if the trackable was not rejected.
    mutating func retry() -> Bool {
        guard let rejection = self.rejection else { return false }
        self.backoff = rejection.backoff
        self.standing = rejection.confirmation.map { .announced($0) } ?? .unannounced
        return true
    }

    /// Marks the trackable as failed for good: no new positions of it are published any more.
    mutating func failed(_ error: TrackingError) { self.standing = .failed(error) }

    /// Decides if a state of the trackable is to be delivered to the caller, and remembers it as delivered.
    ///
    /// - Parameters:
    ///   - reason: The reason for being offline; `nil` if none is known.
    ///   - isConnectionRejected: `true` while the broker rejects this device as a whole.
    /// - Returns: The state and its reason; `nil` if nothing is to be delivered: the state is unchanged, and its reason
    ///   is not new or is only another reason for having no connection.
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
