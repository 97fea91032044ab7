import TrackingCore

/// Decides on which trackables a subscriber announces its presence, and which resolutions it requests for them.
///
/// A publisher applies a resolution request only together with the presence of its subscriber. The request is therefore
/// published first.
struct Attendance: Sendable {
    /// A message of the subscriber to the broker: it publishes a payload on a topic, or clears the topic. The topics
    /// are those of the subscriber's presences and resolution requests.
    enum Message: Hashable, Sendable {
        case publish(Topic, [UInt8])
        case clear(Topic)
    }

    private let isSilent: Bool
    private let isPresentOnlyWhileAsking: Bool
    /// The resolution that the subscriber requests for each watched trackable. A trackable without a request has no
    /// entry.
    private var requests: [TrackableID: Resolution] = [:]
    /// The wall-clock time of the first announcement of the subscriber's presence, for each trackable on which the
    /// subscriber is present. Later announcements repeat this time, also on a new connection.
    private var since: [TrackableID: UnixTime] = [:]
    /// The trackables for which the subscriber requested a resolution in this run, even if the request was withdrawn
    /// since. A publisher that was not connected may still remember such a request.
    private var requested: Set<TrackableID> = []

    /// Creates the state of a subscriber that watches no trackable and has announced nothing yet.
    init(configuration: SubscriberConfiguration) {
        self.isSilent = configuration.isSilent
        self.isPresentOnlyWhileAsking = configuration.isPresentOnlyWhileAsking
    }

    /// Returns the resolution that the subscriber requests for a trackable; `nil` for none.
    func request(for id: TrackableID) -> Resolution? { self.requests[id] }

    /// Stores the resolution to request for a trackable that the program begins to watch; `nil` for no request.
    /// Publishes nothing yet: ``announce(_:_:at:)`` returns the messages.
    mutating func watch(_ id: TrackableID, _ request: Resolution?) { self.requests[id] = request }

    /// Stops watching a trackable.
    ///
    /// - Returns: The messages that withdraw the subscriber's request and presence; none if it was not present.
    mutating func unwatch(_ id: TrackableID, _ client: ClientID) -> [Message] {
        self.requests[id] = nil
        return self.leave(id, client)
    }

    /// Returns the messages that withdraw the requests and presences of the subscriber on all trackables.
    mutating func leaveAll(_ client: ClientID) -> [Message] {
        self.since.keys.sorted().flatMap { self.leave($0, client) }
    }

    /// Returns the messages that announce the subscriber on a watched trackable: its resolution request, and then its
    /// presence.
    ///
    /// A request that was withdrawn is cleared again, because a publisher that was not connected may still remember it.
    /// Nothing is published without an announced connection, or if the subscriber is not to be present.
    ///
    /// - Parameters:
    ///   - session: The subscriber's session at the broker.
    ///   - wall: The present time by the wall clock.
    mutating func announce(_ id: TrackableID, _ session: SessionStateMachine, at wall: UnixTime) -> [Message] {
        let request = self.requests[id]
        guard session.isAnnounced, self.isPresent(requesting: request) else { return [] }
        let since = self.since[id] ?? wall
        self.since[id] = since
        let presence = Message.publish(
            .subscriber(id, session.client), MessageCodec.encode(session.presence(.subscriber, since: since)))
        if let request { return [self.publish(request, for: id, session), presence] }
        return self.requested.contains(id) ? [.clear(.request(id, session.client)), presence] : [presence]
    }

    /// Requests another resolution for a watched trackable, or withdraws the request (`nil`).
    ///
    /// - Returns: The messages that do so, and that announce or withdraw the subscriber's presence if it depends on the
    ///   request.
    mutating func request(
        _ resolution: Resolution?, for id: TrackableID, _ session: SessionStateMachine, at wall: UnixTime
    ) -> [Message] {
        let old = self.requests[id]
        guard old != resolution else { return [] }
        self.requests[id] = resolution
        guard self.isPresent(requesting: resolution) else { return self.leave(id, session.client) }
        guard self.since[id] != nil else {
            // If the broker has not answered the trackable's subscription yet, the presence is published with its
            // answer.
            return self.isPresent(requesting: old) ? [] : self.announce(id, session, at: wall)
        }
        guard let resolution else { return [.clear(.request(id, session.client))] }
        return session.isAnnounced ? [self.publish(resolution, for: id, session)] : []
    }

    /// Returns `true` if the subscriber's settings make it announce its presence on a trackable for which it requests
    /// this resolution (`nil` for no request).
    private func isPresent(requesting request: Resolution?) -> Bool {
        !self.isSilent && (request != nil || !self.isPresentOnlyWhileAsking)
    }

    private mutating func publish(_ resolution: Resolution, for id: TrackableID, _ session: SessionStateMachine)
        -> Message
    {
        self.requested.insert(id)
        let request = ResolutionRequest(session: session.session, resolution: resolution)
        return .publish(.request(id, session.client), MessageCodec.encode(request))
    }

    private mutating func leave(_ id: TrackableID, _ client: ClientID) -> [Message] {
        self.since.removeValue(forKey: id) == nil
            ? [] : [.clear(.request(id, client)), .clear(.subscriber(id, client))]
    }
}
