import TrackingCore

/// The part of a trackable's state machine that publishes the destination as a journey, and uses the estimates of the
/// arrival.
extension TrackableStateMachine {
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
