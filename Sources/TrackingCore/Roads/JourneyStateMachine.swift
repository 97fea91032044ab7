/// The progress of one trackable along the stops of its journey.
///
/// The stops are visited in the order of the journey. The trackable arrives at the next stop with the first fix within
/// the stop's radius. It arrives at a later stop, before the ones between, only when it stays within that stop's radius
/// for ``stay``: otherwise it may merely pass by.
package struct JourneyStateMachine: Hashable, Sendable {
    /// The time that a trackable must stay within the radius of a later stop to arrive there out of order: 2 minutes.
    package static let stay: Duration = .seconds(120)
    /// The time before the estimated arrival at which the trackable approaches the next stop: 5 minutes.
    package static let approach: Duration = .seconds(300)
    /// The time before the estimated arrival from which on it does not approach the stop any more: 6 minutes.
    private static let retreat: Duration = .seconds(360)

    private struct Progress: Hashable {
        /// The time of arrival; `nil` before the arrival.
        var arrived: UnixTime?
        /// The kinds of the events that were reported for the stop.
        var reported: Set<JourneyEvent.Kind> = []
    }

    /// A stay within the radius of a stop that is not the next one.
    private struct Stay: Hashable {
        var id: String
        var since: UnixTime
    }

    /// The journey.
    package private(set) var journey: Journey
    /// `true` while the trackable is off the route to the next stop.
    package private(set) var isOffRoute = false
    private var progress: [String: Progress] = [:]
    private var early: Stay?

    /// Makes the progress of a trackable that has not arrived at any stop.
    package init(_ journey: Journey) { self.journey = journey }

    /// The stops at which the trackable has not arrived, in the order of the visits.
    package var openStops: [Journey.Stop] { self.journey.stops.filter { self.arrival(at: $0.id) == nil } }

    /// The stop that the trackable visits next; `nil` after the arrival at the last one.
    package var next: Journey.Stop? { self.journey.stops.first { self.arrival(at: $0.id) == nil } }

    /// Returns the time at which the trackable arrived at a stop; `nil` before the arrival.
    package func arrival(at id: String) -> UnixTime? { self.progress[id]?.arrived }

    /// Replaces the journey. A stop with the id of one at which the trackable has arrived counts as arrived. A stop
    /// whose place or planned time changed reports its events again.
    package mutating func replaced(by journey: Journey) {
        let before = Dictionary(self.journey.stops.map { ($0.id, $0) }) { first, _ in first }
        var progress: [String: Progress] = [:]
        for stop in journey.stops {
            guard var kept = self.progress[stop.id] else { continue }
            let old = before[stop.id]
            if old?.planned != stop.planned || old?.location != stop.location { kept.reported = [] }
            progress[stop.id] = kept
        }
        self = JourneyStateMachine(journey)
        self.progress = progress
    }

    /// Restores the arrivals and the reported events from an estimate that was published before a restart.
    package mutating func restored(from estimate: Estimate) {
        let ids = Set(self.journey.stops.map(\.id))
        for stop in estimate.stops where ids.contains(stop.id) {
            var progress = self.progress[stop.id] ?? Progress()
            switch stop.status {
            case .arrived:
                progress.arrived = progress.arrived ?? stop.eta ?? estimate.time
                progress.reported.insert(.arrived)
            case .approaching: progress.reported.insert(.approaching)
            case .delayed: progress.reported.insert(.delayed)
            case .offRoute: progress.reported.insert(.offRoute)
            case .enRoute, .unknown: break
            }
            self.progress[stop.id] = progress
        }
    }

    /// Processes a fix. Returns the stops at which the trackable arrived with it.
    ///
    /// A fix whose error is greater than the radius of a stop is no arrival there.
    package mutating func moved(_ fix: Location) -> [Journey.Stop] {
        var arrivals: [Journey.Stop] = []
        // Two stops may be at one place.
        while let next = self.next, next.contains(fix) { arrivals.append(self.arrive(next, at: fix.time)) }
        guard arrivals.isEmpty else {
            self.isOffRoute = false
            self.early = nil
            return arrivals
        }
        return self.stayed(fix)
    }

    private mutating func stayed(_ fix: Location) -> [Journey.Stop] {
        guard let stop = self.openStops.dropFirst().first(where: { $0.contains(fix) }) else {
            self.early = nil
            return []
        }
        guard let early = self.early, early.id == stop.id else {
            self.early = Stay(id: stop.id, since: fix.time)
            return []
        }
        guard fix.time.since(early.since) >= Self.stay else { return [] }
        self.early = nil
        return [self.arrive(stop, at: early.since)]
    }

    private mutating func arrive(_ stop: Journey.Stop, at time: UnixTime) -> Journey.Stop {
        self.progress[stop.id, default: Progress()].arrived = time
        return stop
    }

    /// Records that the trackable has left the route to the next stop.
    package mutating func strayed() { self.isOffRoute = self.next != nil }

    /// Records that the trackable is on the route to the next stop, for example on a new one.
    package mutating func returned() { self.isOffRoute = false }

    /// Sets the status of each stop, and returns the events that are to be reported. Each is returned once.
    ///
    /// - Parameters:
    ///   - stops: The estimated arrivals, one for each stop of the journey in its order, with any status.
    ///   - now: The time of the estimate.
    package mutating func judge(_ stops: inout [Estimate.Stop], at now: UnixTime) -> [JourneyEvent] {
        var events: [JourneyEvent] = []
        let next = self.next?.id
        for (index, stop) in self.journey.stops.enumerated() where index < stops.count {
            let kinds = self.kinds(of: stop, stops[index], isNext: stop.id == next, at: now)
            stops[index].status = Self.status(kinds, isKnown: stops[index].eta != nil)
            let reported = self.progress[stop.id]?.reported ?? []
            for kind in JourneyEvent.Kind.allCases where kinds.contains(kind) && !reported.contains(kind) {
                events.append(JourneyEvent(kind: kind, stop: stop, estimate: stops[index]))
            }
            if !kinds.isEmpty { self.progress[stop.id, default: Progress()].reported.formUnion(kinds) }
        }
        return events
    }

    private func kinds(
        of stop: Journey.Stop, _ estimate: Estimate.Stop, isNext: Bool, at now: UnixTime
    ) -> Set<JourneyEvent.Kind> {
        if self.arrival(at: stop.id) != nil { return [.arrived] }
        var kinds: Set<JourneyEvent.Kind> = []
        if let earliest = estimate.earliest, let planned = stop.planned, earliest > planned { kinds.insert(.delayed) }
        guard isNext else { return kinds }
        if self.isOffRoute { kinds.insert(.offRoute) }
        let isNear = self.progress[stop.id]?.reported.contains(.approaching) ?? false
        if let eta = estimate.eta, eta.since(now) <= (isNear ? Self.retreat : Self.approach) {
            kinds.insert(.approaching)
        }
        return kinds
    }

    private static func status(_ kinds: Set<JourneyEvent.Kind>, isKnown: Bool) -> Estimate.Status {
        if kinds.contains(.arrived) { return .arrived }
        if kinds.contains(.offRoute) { return .offRoute }
        if kinds.contains(.approaching) { return .approaching }
        if kinds.contains(.delayed) { return .delayed }
        return isKnown ? .enRoute : .unknown
    }
}

extension Journey.Stop {
    fileprivate func contains(_ fix: Location) -> Bool {
        guard fix.accuracyHorizontal ?? 0 <= self.radius.value else { return false }
        return fix.coordinate.distance(to: self.location) <= self.radius
    }
}
