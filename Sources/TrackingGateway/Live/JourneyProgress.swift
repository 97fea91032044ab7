package import TrackingCore

/// The journey of a trackable and the estimated arrival times at its stops, as the broker retains them.
package struct JourneyProgress: Hashable, Sendable {
    /// The stops that the trackable is going to visit; `nil` without a journey.
    package var journey: Journey?
    /// The estimated arrival times; `nil` without an estimate. For a short time after a change of the journey, they
    /// belong to the journey before it.
    package var estimate: Estimate?

    /// Creates the progress of a trackable. By default, it has neither a journey nor an estimate.
    package init(journey: Journey? = nil, estimate: Estimate? = nil) {
        self.journey = journey
        self.estimate = estimate
    }

    /// The journey as JSON, as the answers of the API contain it; `nil` without a journey.
    package var journeyJSON: [UInt8]? { self.journey.map { MessageCodec.json(of: $0) } }

    /// The estimate as JSON, as the answers of the API contain it; `nil` without an estimate.
    package var estimateJSON: [UInt8]? { self.estimate.map { MessageCodec.json(of: $0) } }
}

extension Journey {
    /// Returns the stop of a share link: that of the given id, or the last one; `nil` if the journey has no such stop.
    func stop(_ id: String?) -> Stop? {
        guard let id else { return self.stops.last }
        return self.stops.first { $0.id == id }
    }
}

/// The journeys and the estimates of all trackables, limited in their size as JSON.
struct KnownJourneys: Sendable {
    /// The result of a changed journey or estimate.
    enum Outcome: Hashable, Sendable {
        /// The trackable has the same journey and the same estimate as before.
        case unchanged
        /// The trackable has another journey or another estimate than before.
        case changed
        /// The new journey or estimate does not fit into the limit. The trackable has none in its place.
        case tooLarge
    }

    /// The largest total size of all journeys and estimates, as JSON: 128 MiB.
    static let maximumBytes = 134_217_728

    private var entries: [TrackableID: (progress: JourneyProgress, bytes: Int)] = [:]
    private var bytes = 0
    private let limit: Int

    /// Creates the state in which no trackable has a journey or an estimate.
    init(limit: Int = KnownJourneys.maximumBytes) { self.limit = limit }

    /// The journey of each trackable that has one.
    var journeys: [TrackableID: Journey] { self.entries.compactMapValues(\.progress.journey) }

    /// Returns the journey and the estimate of a trackable.
    subscript(id: TrackableID) -> JourneyProgress { self.entries[id]?.progress ?? JourneyProgress() }

    /// Sets a trackable's journey or its estimate, or removes it (`nil`).
    mutating func set<Value: Equatable>(
        _ member: WritableKeyPath<JourneyProgress, Value?>, of id: TrackableID, to value: Value?
    ) -> Outcome {
        let before = self[id]
        guard before[keyPath: member] != value else { return .unchanged }
        var progress = before
        progress[keyPath: member] = value
        if self.keep(progress, of: id) { return .changed }
        progress[keyPath: member] = nil
        _ = self.keep(progress, of: id)
        return .tooLarge
    }

    /// Forgets the journey and the estimate of a trackable.
    mutating func forget(_ id: TrackableID) { self.bytes -= self.entries.removeValue(forKey: id)?.bytes ?? 0 }

    private mutating func keep(_ progress: JourneyProgress, of id: TrackableID) -> Bool {
        let size = (progress.journeyJSON?.count ?? 0) + (progress.estimateJSON?.count ?? 0)
        let total = self.bytes - (self.entries[id]?.bytes ?? 0) + size
        guard total <= self.limit || size == 0 else { return false }
        self.entries[id] = size == 0 ? nil : (progress, size)
        self.bytes = total
        return true
    }
}
