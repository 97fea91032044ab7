import TrackingCore

/// The part of a trackable's state machine that handles the subscribers' requests and the other conditions of the
/// resolution. It also publishes the destination as a journey, and uses the estimates of the arrival.
extension TrackableStateMachine {
    // MARK: - Resolution

    /// Decides the resolution after these conditions changed (requests, battery, …), and publishes it if it differs.
    mutating func reconsider(_ changes: [ConditionChange], _ context: TrackableContext) -> [Output] {
        _ = self.decide(changes, context)
        return self.publishResolution(context)
    }

    /// Decides the resolution again after a fix or a change of the connection, and publishes it if the decision changed.
    ///
    /// - Parameter near: `true` if the trackable came near its destination, `false` if it moved away from it; otherwise
    ///   `nil`.
    mutating func situationChanged(near: Bool? = nil, _ context: TrackableContext) -> [Output] {
        let isChanged = self.decide(near.map { [.nearChanged($0)] } ?? [], context)
        return near != nil || isChanged ? self.publishResolution(context) : []
    }

    /// Decides the resolution after these conditions changed, without publishing it. Returns `true` if the decision
    /// differs from the one before.
    private mutating func decide(_ changes: [ConditionChange], _ context: TrackableContext) -> Bool {
        let before = self.resolution.decision
        let next = self.resolution.changed(changes, context)
        self.live.use(ownInterval: self.resolution.funnel.own.desiredInterval)
        self.live.use(maximumSilence: self.resolution.funnel.maximumSilence ?? self.trackable.maximumSilence)
        if let next { self.live.use(next) }
        return self.resolution.decision != before
    }

    /// Puts a change of the resolution into force that had to wait, because the resolution changes at most once a
    /// second.
    mutating func resolutionPauseEnded(_ context: TrackableContext) -> [Output] {
        if let next = self.resolution.pauseEnded(now: context.now) { self.live.use(next) }
        return self.publishResolution(context)
    }

    /// Publishes the resolution in force if it differs from the one published last and the configuration allows it.
    /// Delivers it to the caller if it differs from the one delivered last. Also has the resolution for the source
    /// computed again.
    mutating func publishResolution(_ context: TrackableContext) -> [Output] {
        guard self.failure == nil else {
            self.resolution.failed()
            return [.updateSensorResolution]
        }
        self.resolution.updateApproach(
            to: self.publishedDestination(context), from: self.live.lane.last?.location, now: context.now,
            wallClock: context.believedTime)
        var outputs: [Output] = [.updateSensorResolution]
        let inForce = self.inForce(context.configuration)
        let isSending = context.isAnnounced && self.status.isSending && context.configuration.sendsResolution
        if self.resolution.publishes(inForce, isSending: isSending, now: context.now) {
            outputs.append(.publish(.resolution(self.id), MessageCodec.encode(inForce), .resolution))
        }
        if self.resolution.delivers(inForce) { outputs.append(.action(.resolutionChanged(self.id, inForce))) }
        return outputs
    }

    /// The resolution in force and its reasons, as subscribers receive them.
    func inForce(_ configuration: PublisherConfiguration) -> ResolutionInForce {
        // Subscribers can expect regular updates only if positions are published live, without a request, and
        // repeatedly.
        let isRepeated = configuration.sendsLive && configuration.sendsByItself && self.trackable.isRepeated
        return self.resolution.inForce(
            of: self.trackable, state: self.status.reported.state,
            maximumSilence: isRepeated ? self.live.lane.filter.effectiveMaximumSilence : .zero)
    }

    /// Publishes the resolution again if the remaining way to the destination, which it contains, has changed.
    mutating func publishApproach(_ context: TrackableContext) -> [Output] {
        self.trackable.destination == nil ? [] : self.publishResolution(context)
    }

    /// Handles the broker's answer to the use of an optional permission, such as receiving commands.
    ///
    /// A refused permission is tried again later. The first refusal is reported to the caller, except that of the
    /// resolution.
    mutating func grantAnswered(
        _ grant: OptionalGrantRefusals.Grant, _ refusal: TrackingError?, _ context: TrackableContext
    ) -> [Output] {
        let isNew = self.optionalGrants.answered(grant, isRefused: refusal != nil, now: context.now)
        guard let refusal, isNew else { return [] }
        switch grant {
        case .commands: return [.action(.commandsRefused(self.id, refusal))]
        case .journey, .destination: return [.action(.journeyRefused(self.id, refusal))]
        case .resolution: return []
        }
    }

    /// Tries again to use the optional permissions that the broker refused.
    mutating func retryOptionalGrants(_ context: TrackableContext) -> [Output] {
        let grants = self.optionalGrants.retry()
        guard context.session.isConnected else { return [] }
        var outputs: [Output] = grants.contains(.commands) ? [.subscribeToCommands] : []
        if grants.contains(.journey) { self.destination.retryReading() }
        if grants.contains(.destination) { self.destination.retryPublishing() }
        // The answer to a publish in flight decides about the next attempt.
        if grants.contains(.resolution), self.resolution.unacknowledged == 0 {
            self.resolution.publishAgain()
            outputs += self.publishResolution(context)
        }
        return outputs
    }

    // MARK: - Subscribers

    /// Handles that a subscriber arrived. If its resolution request was received before, it takes effect now.
    mutating func arrived(_ subscriber: SubscriberID, _ context: TrackableContext) -> [Output] {
        let request = self.requests.byClient[subscriber.client]?[subscriber.session]
        let made = request.map { [ConditionChange.requestMade(subscriber, $0)] } ?? []
        return [.announceSoon] + self.reconsider([.subscriberCame(subscriber)] + made, context)
    }

    /// Handles that a subscriber left: its request no longer affects the resolution.
    mutating func left(_ subscriber: SubscriberID, _ context: TrackableContext) -> [Output] {
        self.requests.left(subscriber)
        return self.reconsider([.subscriberLeft(subscriber)], context)
    }

    /// Stores a subscriber's resolution request, and applies it to the resolution. If the subscriber is not present,
    /// the request is applied when the subscriber arrives.
    ///
    /// - Parameter presence: The present publishers and subscribers.
    mutating func requested(
        _ request: ResolutionRequest, by client: ClientID, _ presence: PresenceStateMachine,
        _ context: TrackableContext
    ) -> [Output] {
        let subscriber = SubscriberID(client: client, session: request.session)
        let (id, subscribers) = (self.id, self.resolution.funnel.subscribers)
        let isRemembered = self.requests.remember(request, of: client, among: subscribers) {
            Set(presence.members(of: .subscriber, on: id).map(\.client))
        }
        guard isRemembered, subscribers.contains(subscriber) else { return [] }
        return self.reconsider([.requestMade(subscriber, request.resolution)], context)
    }

    /// Drops the requests of a client and recomputes the resolution.
    mutating func dropRequests(of client: ClientID, _ context: TrackableContext) -> [Output] {
        self.reconsider(self.requests.drop(client).map { .requestDropped($0) }, context)
    }

    // MARK: - Journey

    /// The destination as it may be published; `nil` without a destination, without live positions, and if the privacy
    /// zones hide the destination.
    func publishedDestination(_ context: TrackableContext) -> Coordinate? {
        context.sendsLive ? self.trackable.destination.flatMap(context.shown) : nil
    }

    /// Publishes, replaces or clears the journey to the destination, if the retained journey is not an operator's. Also
    /// subscribes to the journey and the estimates, or ends this subscription.
    mutating func publishDestination(_ context: TrackableContext) -> [Output] {
        guard context.isAnnounced, context.isOn, self.status.isSending else { return [] }
        let destination = self.publishedDestination(context)
        let needsEstimate = self.trackable.constraints?.proximityThreshold?.temporal != nil
        var outputs: [Output] = []
        while let action = self.destination.next(destination: destination, needsEstimate: needsEstimate) {
            switch action {
            case .subscribe: outputs.append(.subscribeToJourney)
            case .unsubscribe:
                outputs.append(.unsubscribeFromJourney)
                _ = self.resolution.proximity.estimateChanged(nil, wallClock: context.believedTime)
            case .clear: outputs.append(.clear(.journey(self.id)))
            case .publish(let journey):
                guard let payload = try? MessageCodec.encode(journey) else { break }
                outputs.append(.publish(.journey(self.id), payload, .journey))
            }
        }
        return outputs
    }

    /// Handles the broker's answers to the subscription to the journey and the estimates.
    mutating func journeySubscribed(_ refusals: [TrackingError?], _ context: TrackableContext) -> [Output] {
        self.grantAnswered(.journey, refusals.compactMap { $0 }.first, context)
    }

    /// Handles the broker's answer to a journey that was published for the destination. A rejected journey is published
    /// again later.
    mutating func journeyAnswered(_ refusal: TrackingError?, _ context: TrackableContext) -> [Output] {
        if refusal != nil { self.destination.refused() }
        return self.grantAnswered(.destination, refusal, context)
    }

    /// Handles that an estimate of the trackable's arrivals was received; `nil` after it was cleared. The trackable may
    /// become near, or stop being near.
    mutating func estimateReceived(_ estimate: Estimate?, _ context: TrackableContext) -> [Output] {
        let near = self.resolution.proximity.estimateChanged(estimate, wallClock: context.believedTime)
        let outputs = near.map { self.reconsider([.nearChanged($0)], context) } ?? []
        return outputs + self.publishApproach(context)
    }
}
