package import TrackingCore

extension TrackingEvent {
    /// Returns `true` when the event happened more than ``RuleBook/maximumLateness`` before it was received, so that it describes
    /// the past.
    package func isLate(at received: UnixTime) -> Bool { received.since(self.time) > RuleBook.maximumLateness }
}
