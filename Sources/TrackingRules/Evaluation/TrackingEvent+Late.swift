package import TrackingCore

extension TrackingEvent {
    /// Returns `true` when the event happened more than ``RuleBook/maximumLateness`` before it was received. Such an
    /// event describes the past.
    ///
    /// - Parameter received: The time at which the gateway received the event.
    package func isLate(at received: UnixTime) -> Bool { received.since(self.time) > RuleBook.maximumLateness }
}
