/// The estimates of all trackables with a journey, for a program that publishes them.
///
/// The book decodes journeys, numbers route requests, and encodes estimates and events. The caller performs the returned
/// actions, and calls ``timerFired(at:)`` at ``nextDeadline``.
package struct EstimateBook: Sendable {
    /// An action that the caller must perform.
    package enum Action: Equatable, Sendable {
        /// Request a route, and pass the answer with this number to ``answered(_:_:at:)``.
        case requestRoute(RouteRequest, number: Int)
        /// Publish a message; an empty payload clears the topic.
        case publish(Topic, payload: [UInt8])
    }

    /// The maximum number of trackables with a journey. Further journeys are ignored.
    package static let maximumTrackables = 10_000

    private let profile: TravelProfile
    private let profiles: [TrackableID: TravelProfile]
    private var entries: [TrackableID: Entry] = [:]
    /// The trackable and its own number of each route request without an answer.
    private var requests: [Int: Request] = [:]
    private var lastRequest = 0
    private var deadlines = DeadlineQueue<TrackableID>()
    private var generator: SplitMix64

    /// A trackable with a journey, and the stream of its events.
    private struct Entry: Sendable {
        var keeper: EstimateKeeper
        let stream: StreamID
        /// The number of the last event in the stream.
        var seq: UInt64 = 0
        /// The number of the last route request in the book; `nil` before the first.
        var request: Int?
    }

    private struct Request: Sendable {
        var id: TrackableID
        var number: Int
    }

    /// Makes the book of a program that has received no journey.
    ///
    /// - Parameters:
    ///   - profile: The profile of journeys without one.
    ///   - profiles: The profiles of such journeys of single trackables, in place of `profile`.
    ///   - seed: The seed of the random ids of the events and their streams.
    package init(profile: TravelProfile = .auto, profiles: [TrackableID: TravelProfile] = [:], seed: UInt64) {
        self.profile = profile
        self.profiles = profiles
        self.generator = SplitMix64(seed: seed)
    }

    /// The time at which the caller must call ``timerFired(at:)``; `nil` when there is none.
    package var nextDeadline: MonotonicTime? { self.deadlines.next }

    /// Returns `true` while an answer to the route request with this number is of use.
    package func isWanted(_ number: Int) -> Bool { self.requests[number] != nil }

    /// The number of trackables with a journey or a retained estimate.
    package var count: Int { self.entries.count }

    // MARK: Inputs

    /// Processes a message on the topic `journey`. An empty payload clears the journey.
    ///
    /// - Parameters:
    ///   - payload: The payload of the message.
    ///   - id: The trackable of the message.
    ///   - fix: The last known position of the trackable; `nil` when it is unknown.
    ///   - moment: The present time.
    /// - Throws: ``TrackingError/Code/invalidPayload`` and ``TrackingError/Code/payloadTooLarge`` for a journey that
    ///   cannot be read. The journey before it remains.
    package mutating func received(
        journey payload: some Collection<UInt8>, of id: TrackableID, at fix: Location?, _ moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard !payload.isEmpty else {
            let actions = self.change(id, at: moment) { $0.journeyChanged(nil, at: moment) }
            self.forget(id)
            return actions
        }
        let journey = try MessageCodec.decodeJourney(payload)
        guard self.makeKeeper(of: id) else { return [] }
        return self.change(id, at: moment) { keeper in
            // The position comes first, so that the first estimate contains it.
            let actions = fix.map { keeper.moved($0, at: moment) } ?? []
            return actions + keeper.journeyChanged(journey, at: moment)
        }
    }

    /// Processes a retained message on the topic `estimate`, which an earlier run published. An unreadable or empty
    /// message has no effect.
    package mutating func received(retainedEstimate payload: some Collection<UInt8>, of id: TrackableID) {
        guard let estimate = try? MessageCodec.decodeEstimate(payload), self.makeKeeper(of: id) else { return }
        self.entries[id]?.keeper.received(retained: estimate)
    }

    /// Processes that all retained messages were received. Returns the actions that clear the estimates of trackables
    /// without a journey.
    package mutating func receivedRetained(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for id in self.entries.keys.sorted() {
            let cleared = self.change(id, at: moment) { $0.receivedRetained() }
            if !cleared.isEmpty { self.forget(id) }
            actions += cleared
        }
        return actions
    }

    /// Processes a position of a trackable. It has no effect without a journey.
    package mutating func moved(_ fix: Location, of id: TrackableID, at moment: Moment) -> [Action] {
        self.change(id, at: moment) { $0.moved(fix, at: moment) }
    }

    /// Processes the routing engine's answer to a request.
    package mutating func answered(
        _ number: Int, _ result: Result<Route, TrackingError>, at moment: Moment
    ) -> [Action] {
        guard let request = self.requests.removeValue(forKey: number) else { return [] }
        return self.change(request.id, at: moment) { keeper in
            switch result {
            case .success(let route): keeper.routeAnswered(route, to: request.number, at: moment)
            case .failure: keeper.routeFailed(request.number, at: moment)
            }
        }
    }

    /// Processes that ``nextDeadline`` has passed.
    package mutating func timerFired(at moment: Moment) -> [Action] {
        self.deadlines.popExpired(now: moment.now).flatMap { id in
            self.change(id, at: moment) { $0.timerFired(at: moment) }
        }
    }

    /// Forgets the trackables that do not fulfil a condition. Their retained estimates remain, because another program
    /// publishes them from now on.
    package mutating func keepOnly(where isKept: (TrackableID) -> Bool) {
        for id in self.entries.keys.filter({ !isKept($0) }) { self.forget(id) }
    }

    // MARK: Changes

    /// Makes the decider of a trackable if there is none. Returns `false` when there are too many.
    private mutating func makeKeeper(of id: TrackableID) -> Bool {
        if self.entries[id] != nil { return true }
        guard self.entries.count < Self.maximumTrackables else { return false }
        let keeper = EstimateKeeper(profile: self.profiles[id] ?? self.profile)
        self.entries[id] = Entry(keeper: keeper, stream: StreamID.random(using: &self.generator))
        return true
    }

    private mutating func forget(_ id: TrackableID) {
        if let request = self.entries.removeValue(forKey: id)?.request { self.requests[request] = nil }
        self.deadlines.remove(id)
    }

    private mutating func change(
        _ id: TrackableID, at moment: Moment, _ body: (inout EstimateKeeper) -> [EstimateKeeper.Action]
    ) -> [Action] {
        guard var entry = self.entries.removeValue(forKey: id) else { return [] }
        let decisions = body(&entry.keeper)
        self.deadlines.keep(id, at: entry.keeper.nextDeadline)
        var actions: [Action] = []
        for decision in decisions {
            if let action = self.action(decision, of: id, &entry, moment.wall) { actions.append(action) }
        }
        self.entries[id] = entry
        return actions
    }

    private mutating func action(
        _ decision: EstimateKeeper.Action, of id: TrackableID, _ entry: inout Entry, _ now: UnixTime
    ) -> Action? {
        switch decision {
        case .requestRoute(let request, let number):
            if let earlier = entry.request { self.requests[earlier] = nil }
            self.lastRequest += 1
            entry.request = self.lastRequest
            self.requests[self.lastRequest] = Request(id: id, number: number)
            return .requestRoute(request, number: self.lastRequest)
        case .publish(let estimate):
            return (try? MessageCodec.encode(estimate)).map { .publish(.estimate(id), payload: $0) }
        case .clear: return .publish(.estimate(id), payload: [])
        case .report(let event):
            return .publish(.event(id), payload: MessageCodec.encode(self.event(event, &entry, now)))
        }
    }

    private mutating func event(_ event: JourneyEvent, _ entry: inout Entry, _ now: UnixTime) -> TrackingEvent {
        entry.seq += 1
        // The position is a copy of a recorded point. Under the point's name it would be recorded a second time.
        var location = entry.keeper.position
        location?.seq = nil
        location?.stream = nil
        return TrackingEvent(
            id: UUIDText.random(using: &self.generator), stream: entry.stream, seq: entry.seq, time: now,
            kind: event.kind.eventKind, detail: event.detail, location: location)
    }
}
