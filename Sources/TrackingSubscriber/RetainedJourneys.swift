import TrackingCore

/// The topics of journeys and estimates that have a retained message, as far as a subscriber knows.
///
/// A client does not learn which topics were cleared while it was not connected. Of the topics known before, those
/// without a message on the new connection were cleared.
struct RetainedJourneys: Sendable {
    /// The topics whose last delivered message was not cleared.
    private var known: Set<Topic> = []
    /// The topics of which a message arrived since the connection was made.
    private var arrived: Set<Topic> = []

    /// Handles a new connection, on which all retained messages arrive again.
    mutating func connected() { self.arrived = [] }

    /// Handles a message on the topic of a journey or an estimate.
    mutating func received(_ topic: Topic, isCleared: Bool) {
        if isCleared {
            self.known.remove(topic)
        } else {
            self.known.insert(topic)
            self.arrived.insert(topic)
        }
    }

    /// Forgets a trackable that is no longer watched.
    mutating func forget(_ id: TrackableID) {
        for topic in [Topic.journey(id), .estimate(id)] {
            self.known.remove(topic)
            self.arrived.remove(topic)
        }
    }

    /// Returns the known topics of which no message arrived on this connection, and forgets them. Call this function
    /// after all retained messages have arrived.
    mutating func takeCleared() -> [Topic] {
        defer { self.known.formIntersection(self.arrived) }
        return self.known.subtracting(self.arrived).sorted { "\($0)" < "\($1)" }
    }
}
