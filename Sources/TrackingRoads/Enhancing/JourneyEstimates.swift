import TrackingCore

/// The journeys and estimates of an enhancer: the order of its route requests, and the messages that wait for a
/// connection.
struct JourneyEstimates: Sendable {
    /// An action that the enhancer must perform.
    enum Action: Hashable, Sendable {
        /// Request a route, and pass the answer with this number to ``answered(_:_:at:)``.
        case route(Int, RouteRequest)
        /// Publish a message; an empty payload clears the topic.
        case publish(Topic, [UInt8])
    }

    private struct Request: Sendable {
        var number: Int
        var route: RouteRequest
    }

    /// The maximum number of route requests that wait for an answer at the same time.
    static let maximumRequests = 4
    /// The maximum number of events that wait for a connection. Further events are dropped.
    static let maximumEvents = 1_000

    private var book: EstimateBook
    /// The journeys that arrived before the retained estimates were received, by trackable.
    private var arriving: [TrackableID: [UInt8]] = [:]
    private var waiting: [Request] = []
    private var running: Set<Int> = []
    /// The newest estimate of each trackable that was not published, and the events.
    private var unsentEstimates: [TrackableID: [UInt8]] = [:]
    private var unsentEvents: [Action] = []
    /// `true` while the connection to the broker is announced.
    private var isOnline = false

    /// Makes the state of an enhancer that has received no journey.
    init(_ configuration: EnhancerConfiguration) {
        self.book = EstimateBook(
            profile: configuration.profile ?? .auto, profiles: configuration.profiles,
            seed: configuration.session.seed)
    }

    /// The time at which ``timerFired(at:)`` must be called; `nil` for no such time.
    var nextDeadline: MonotonicTime? { self.book.nextDeadline }

    // MARK: Inputs

    /// Handles a message on the topic of a journey. A journey that arrives before ``settled(at:position:)`` waits,
    /// because the retained estimate may arrive after it.
    ///
    /// - Throws: The reason why the journey cannot be read.
    mutating func received(
        journey payload: [UInt8], of id: TrackableID, at fix: Location?, _ moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard self.isOnline else {
            if !payload.isEmpty { _ = try MessageCodec.decodeJourney(payload) }
            if self.arriving.count < EstimateBook.maximumTrackables { self.arriving[id] = payload }
            return []
        }
        return self.perform(try self.book.received(journey: payload, of: id, at: fix, moment))
    }

    /// Handles a retained estimate, which an earlier run of an enhancer published.
    mutating func received(retainedEstimate payload: ArraySlice<UInt8>, of id: TrackableID) {
        if !self.isOnline { self.book.received(retainedEstimate: payload, of: id) }
    }

    /// Handles a position of a trackable.
    mutating func moved(_ fix: Location, of id: TrackableID, at moment: Moment) -> [Action] {
        self.perform(self.book.moved(fix, of: id, at: moment))
    }

    /// Handles that the retained messages of a connection were received. Returns the messages that waited.
    mutating func settled(at moment: Moment, position: (TrackableID) -> Location?) -> [Action] {
        self.isOnline = true
        let estimates = self.unsentEstimates.sorted { $0.key < $1.key }
        var actions = estimates.map { Action.publish(.estimate($0.key), $0.value) } + self.unsentEvents
        (self.unsentEstimates, self.unsentEvents) = ([:], [])
        for (id, payload) in self.arriving.sorted(by: { $0.key < $1.key }) {
            // The journey was read when it arrived.
            let journey = (try? self.book.received(journey: payload, of: id, at: position(id), moment)) ?? []
            actions += self.perform(journey)
        }
        self.arriving = [:]
        return actions + self.perform(self.book.receivedRetained(at: moment))
    }

    /// Forgets the journeys and the waiting messages of trackables that do not fulfil a condition.
    mutating func keepOnly(where isKept: (TrackableID) -> Bool) {
        self.book.keepOnly(where: isKept)
        self.arriving = self.arriving.filter { isKept($0.key) }
        self.unsentEstimates = self.unsentEstimates.filter { isKept($0.key) }
        self.unsentEvents.removeAll { action in
            if case .publish(let topic, _) = action { topic.trackable.map { !isKept($0) } ?? false } else { false }
        }
    }

    /// Handles the loss of the connection.
    mutating func disconnected() { self.isOnline = false }

    /// Handles the routing engine's answer to a request.
    mutating func answered(_ number: Int, _ result: Result<Route, TrackingError>, at moment: Moment) -> [Action] {
        guard self.running.remove(number) != nil else { return [] }
        return self.perform(self.book.answered(number, result, at: moment))
    }

    /// Handles that ``nextDeadline`` has passed.
    mutating func timerFired(at moment: Moment) -> [Action] { self.perform(self.book.timerFired(at: moment)) }

    // MARK: Actions

    private mutating func perform(_ actions: [EstimateBook.Action]) -> [Action] {
        var performed: [Action] = []
        for action in actions {
            switch action {
            case .requestRoute(let route, let number): self.waiting.append(Request(number: number, route: route))
            case .publish(let topic, let payload) where self.isOnline: performed.append(.publish(topic, payload))
            case .publish(.estimate(let id), let payload): self.unsentEstimates[id] = payload
            case .publish(let topic, let payload):
                if self.unsentEvents.count < Self.maximumEvents { self.unsentEvents.append(.publish(topic, payload)) }
            }
        }
        return performed + self.startRequests()
    }

    /// Starts the requests that waited for the longest time. A request that was replaced by a later one of the same
    /// trackable is dropped.
    private mutating func startRequests() -> [Action] {
        guard !self.waiting.isEmpty, self.running.count < Self.maximumRequests else {
            if self.waiting.count > 2 * EstimateBook.maximumTrackables { self.dropUnwanted() }
            return []
        }
        self.dropUnwanted()
        let due = self.waiting.prefix(Self.maximumRequests - self.running.count)
        self.waiting.removeFirst(due.count)
        self.running.formUnion(due.map(\.number))
        return due.map { .route($0.number, $0.route) }
    }

    private mutating func dropUnwanted() { self.waiting.removeAll { !self.book.isWanted($0.number) } }
}
