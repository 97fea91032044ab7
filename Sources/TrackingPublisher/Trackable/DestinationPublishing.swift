import TrackingCore

/// Decides for one trackable when its destination is published as a journey, so that an enhancer estimates the arrival.
///
/// The publisher subscribes to the trackable's journey and estimates while it needs them, and then publishes, replaces
/// or clears the retained journey. It never replaces or clears a journey of an operator (``Journey/isOfPublisher``).
struct DestinationPublishing: Hashable, Sendable {
    /// An action for the caller to perform.
    enum Action: Hashable, Sendable {
        /// Subscribe to the journey and the estimates of the trackable. The caller calls ``received(_:)`` for each
        /// journey, and ``readRetained()`` when the retained ones were received.
        case subscribe
        /// Unsubscribe from the journey and the estimates.
        case unsubscribe
        /// Publish this journey, retained.
        case publish(Journey)
        /// Clear the retained journey.
        case clear
    }

    /// The state of the subscription to the journey and the estimates on this connection.
    private enum Reading: Hashable {
        /// There is no subscription. Can transition to: `pending`.
        case none
        /// The retained messages were not received yet, or the broker refuses to deliver them. Can transition to:
        /// `none`, `complete`.
        case pending
        /// The retained journey is known. Can transition to: `none`.
        case complete
    }

    /// The journey that the broker retains.
    enum Retained: Hashable, Sendable {
        /// No journey.
        case none
        /// A journey that a publisher made of a destination, with the id of its stop.
        case destination(String)
        /// A journey of an operator, or one that cannot be decoded.
        case operators

        /// Examines a received journey; `nil` after it was cleared.
        ///
        /// - Throws: The error of a journey that cannot be decoded.
        init(_ payload: ArraySlice<UInt8>?) throws(TrackingError) {
            guard let payload else {
                self = .none
                return
            }
            let journey = try MessageCodec.decodeJourney(payload)
            self = journey.isOfPublisher ? .destination(journey.stops[0].id) : .operators
        }

        /// `true` for a journey that a publisher may clear.
        var isOfPublisher: Bool { if case .destination = self { true } else { false } }
    }

    private var reading = Reading.none
    private var retained = Retained.none
    /// `true` while the broker refuses to let this publisher publish the journey.
    private var isRefused = false
    /// `true` if the broker may retain a journey that this publisher made of the trackable's destination. The journey
    /// is cleared when the tracking ends.
    private(set) var isOwn = false

    /// `true` while the publisher is subscribed to the journey and the estimates, or waits for the broker's answer.
    var isSubscribed: Bool { self.reading != .none }

    /// Returns the next action; `nil` for none. The caller performs the action and calls this method again.
    ///
    /// - Parameters:
    ///   - destination: The destination as it may be published; `nil` for none.
    ///   - needsEstimate: `true` if the resolution of the trackable depends on its time to arrival.
    mutating func next(destination: Coordinate?, needsEstimate: Bool) -> Action? {
        if self.reading == .complete, !self.isRefused,
            let action = self.replace(by: destination.map(Journey.init(to:)))
        {
            return action
        }
        guard destination != nil || needsEstimate || self.isOwn else {
            defer { self = DestinationPublishing() }
            return self.isSubscribed ? .unsubscribe : nil
        }
        guard self.reading == .none else { return nil }
        self.reading = .pending
        return .subscribe
    }

    private mutating func replace(by journey: Journey?) -> Action? {
        let wanted = journey.map { Retained.destination($0.stops[0].id) } ?? .none
        guard self.retained != .operators, self.retained != wanted else {
            self.isOwn = journey != nil && self.retained == wanted
            return nil
        }
        self.retained = wanted
        self.isOwn = journey != nil
        return journey.map { .publish($0) } ?? .clear
    }

    /// Handles that the trackable's journey was received or cleared.
    mutating func received(_ retained: Retained) { self.retained = retained }

    /// Handles that all retained messages of the subscription were received.
    mutating func readRetained() { if self.reading == .pending { self.reading = .complete } }

    /// Handles that the broker refused to let this publisher publish the journey.
    mutating func refused() { (self.isRefused, self.isOwn, self.retained) = (true, false, .none) }

    /// Makes the next call of ``next(destination:needsEstimate:)`` publish the journey, although the broker refused it
    /// before.
    mutating func retryPublishing() { self.isRefused = false }

    /// Makes the next call of ``next(destination:needsEstimate:)`` subscribe again.
    mutating func retryReading() { self.reading = .none }

    /// Handles that a journey of the trackable may be left at the broker from before, when the trackable was tracked
    /// the last time. It is examined on the next connection.
    mutating func resume() { self.isOwn = true }

    /// Handles that the connection was lost. On the next one, the retained journey is read again.
    mutating func connectionLost() { (self.reading, self.retained, self.isRefused) = (.none, .none, false) }
}
