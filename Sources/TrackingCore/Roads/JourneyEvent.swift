/// An event at a stop of a journey, which an enhancer publishes once for each stop.
package struct JourneyEvent: Hashable, Sendable {
    /// The kind of an event at a stop.
    package enum Kind: Hashable, Sendable, CaseIterable {
        case approaching, arrived, delayed, offRoute

        /// The kind of event in messages.
        package var eventKind: TrackingEvent.Kind {
            switch self {
            case .approaching: .approaching
            case .arrived: .arrived
            case .delayed: .delayed
            case .offRoute: .offRoute
            }
        }
    }

    /// The kind of the event.
    package var kind: Kind
    /// The stop of the journey at which the event happened.
    package var stop: Journey.Stop
    /// The estimated arrival at the stop when the event happened.
    package var estimate: Estimate.Stop

    /// The detail of the event in its message: the id of the stop, and if they are known its name, its planned time and
    /// its estimated arrival.
    package var detail: [String: JSONValue] {
        let times = [
            "planned": self.stop.planned, "eta": self.estimate.eta, "earliest": self.estimate.earliest,
            "latest": self.estimate.latest,
        ]
        var detail = times.compactMapValues { $0.map { JSONValue.number($0.seconds) } }
        detail["stop"] = .text(self.stop.id)
        detail["name"] = self.stop.name.map { .text($0) }
        return detail
    }
}
