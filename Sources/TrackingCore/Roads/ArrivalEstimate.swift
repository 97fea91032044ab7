/// The newest estimate of a trackable's arrivals, as its own publisher uses it to decide the resolution.
///
/// With a destination, the stop of the destination counts. Without one, the next stop counts, so that a journey of an
/// operator changes the resolution too. `docs/reference/resolution.md`, "Near", contains the rule.
package struct ArrivalEstimate: Hashable, Sendable {
    /// The estimated arrival at one stop.
    package struct Arrival: Hashable, Sendable {
        /// The time at which the arrival was estimated.
        var calculated: UnixTime
        /// The estimated time of arrival.
        var eta: UnixTime
        /// The remaining distance along the way at the time of the estimate; `nil` when unknown.
        var distance: Meters?

        /// Returns the time from `time` to the arrival; negative if the trackable should have arrived.
        func duration(from time: UnixTime) -> Duration { self.eta.since(time) }

        /// Returns the remaining distance at a time near that of the estimate, counted down evenly until the arrival.
        /// The result is never above the estimated distance.
        func distance(at time: UnixTime) -> Meters? {
            let total = self.eta.seconds - self.calculated.seconds
            guard let distance = self.distance, total > 0 else { return self.distance }
            let share = (self.eta.seconds - time.seconds) / total
            return Meters(distance.value * min(max(share, 0), 1))
        }
    }

    /// The age from which on an estimate has no effect any more: 60 s.
    package static let validity: Duration = .seconds(60)
    /// The age from which on the last result without a destination ends: 3 min.
    ///
    /// An enhancer publishes an estimate every 60 s while the trackable stands.
    static let memory: Duration = .seconds(180)

    private var estimate: Estimate?

    /// Makes the value of a trackable of which no estimate was received.
    package init() {}

    /// Replaces the estimate; `nil` after the estimate was cleared.
    package mutating func received(_ estimate: Estimate?) {
        self.estimate = estimate
        // The way is not used here, and is the largest part of an estimate.
        self.estimate?.route = []
    }

    /// Returns the estimated arrival at the destination, or at the next stop of the journey for no destination (`nil`).
    ///
    /// - Parameter now: The time on the device's wall clock; `nil` when it is unknown or not trusted.
    /// - Returns: `nil` without a valid estimate of an arrival that is still to come.
    package func arrival(at destination: Coordinate?, now: UnixTime?) -> Arrival? {
        guard let estimate = self.estimate, self.isYounger(than: Self.validity, at: now),
            let stop = self.stop(of: destination), stop.status != .arrived, let eta = stop.eta
        else { return nil }
        return Arrival(calculated: estimate.time, eta: eta, distance: stop.distance)
    }

    /// Returns `true` while the trackable has a next stop, by an estimate younger than ``memory``.
    func hasNextStop(at now: UnixTime?) -> Bool {
        self.isYounger(than: Self.memory, at: now) && self.stop(of: nil) != nil
    }

    private func stop(of destination: Coordinate?) -> Estimate.Stop? {
        guard let destination else { return self.estimate?.stops.first { $0.status != .arrived } }
        let id = Journey.Stop.id(ofDestination: destination)
        return self.estimate?.stops.first { $0.id == id }
    }

    private func isYounger(than limit: Duration, at now: UnixTime?) -> Bool {
        guard let now, let estimate = self.estimate else { return false }
        let age = now.since(estimate.time)
        return age < limit && age >= .zero - LivePosition.maximumAhead
    }
}
