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

    /// The estimated arrival times as JSON, in the form of the HTTP API's answers; `nil` without an estimate.
    package var estimateJSON: [UInt8]? { self.estimate.map { MessageCodec.json(of: $0) } }
}

extension Journey {
    /// Returns the stop of a share link: that of the given id, or the last one; `nil` if the journey has no such stop.
    package func stop(_ id: String?) -> Stop? {
        guard let id else { return self.stops.last }
        return self.stops.first { $0.id == id }
    }

    /// The ids of the stops, for an error about an unknown stop: `'4711', '4712' and 3 more`. At most 20 are named.
    package var stopIDs: String {
        let named = 20
        let ids = self.stops.prefix(named).map { "'\($0.id)'" }.joined(separator: ", ")
        return self.stops.count > named ? "\(ids) and \(self.stops.count - named) more" : ids
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

    private struct Entry: Sendable {
        var progress = JourneyProgress()
        var journeyBytes = 0
        var estimateBytes = 0

        var bytes: Int { self.journeyBytes + self.estimateBytes }
    }

    private var entries: [TrackableID: Entry] = [:]
    private var bytes = 0
    private let limit: Int

    /// Creates the state in which no trackable has a journey or an estimate.
    init(limit: Int = KnownJourneys.maximumBytes) { self.limit = limit }

    /// The journey of each trackable that has one.
    var journeys: [TrackableID: Journey] { self.entries.compactMapValues(\.progress.journey) }

    /// Returns the journey and the estimate of a trackable.
    subscript(id: TrackableID) -> JourneyProgress { self.entries[id]?.progress ?? JourneyProgress() }

    /// Sets the journey of a trackable, or removes it (`nil`).
    ///
    /// - Parameter bytes: The size of the journey as JSON.
    mutating func setJourney(_ journey: Journey?, of id: TrackableID, bytes: Int) -> Outcome {
        var entry = self.entries[id] ?? Entry()
        guard entry.progress.journey != journey else { return .unchanged }
        let fits = self.fits(bytes, insteadOf: entry.journeyBytes)
        (entry.progress.journey, entry.journeyBytes) = fits ? (journey, bytes) : (nil, 0)
        self.keep(entry, of: id)
        return fits ? .changed : .tooLarge
    }

    /// Sets the estimate of a trackable, or removes it (`nil`).
    ///
    /// - Parameter bytes: The size of the estimate as JSON.
    mutating func setEstimate(_ estimate: Estimate?, of id: TrackableID, bytes: Int) -> Outcome {
        var entry = self.entries[id] ?? Entry()
        guard entry.progress.estimate != estimate else { return .unchanged }
        let fits = self.fits(bytes, insteadOf: entry.estimateBytes)
        (entry.progress.estimate, entry.estimateBytes) = fits ? (estimate, bytes) : (nil, 0)
        self.keep(entry, of: id)
        return fits ? .changed : .tooLarge
    }

    /// Forgets the journey and the estimate of a trackable.
    mutating func forget(_ id: TrackableID) { self.keep(Entry(), of: id) }

    private func fits(_ bytes: Int, insteadOf before: Int) -> Bool {
        bytes == 0 || self.bytes - before + bytes <= self.limit
    }

    private mutating func keep(_ entry: Entry, of id: TrackableID) {
        self.bytes += entry.bytes - (self.entries[id]?.bytes ?? 0)
        self.entries[id] = entry.bytes == 0 ? nil : entry
    }
}
