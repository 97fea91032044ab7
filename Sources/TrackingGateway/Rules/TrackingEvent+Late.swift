import TrackingCore

extension TrackingEvent {
    /// Whether it happened so long before it was heard that it tells how things were, not how they are.
    func isLate(at heard: UnixTime) -> Bool { heard.since(self.time) > RuleBook.maximumLateness }
}
