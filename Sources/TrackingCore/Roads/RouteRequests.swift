/// Decides when a trackable's route is requested, so that a fleet does not overload the routing engine.
struct RouteRequests: Sendable {
    /// The reason for a new route.
    enum Reason: Sendable {
        /// There is no route to the open stops, for example after a change of the journey.
        case missing
        /// The trackable has left the route.
        case left
        /// The progress along the route differs from the expected progress.
        case different
        /// The route is older than a minute.
        case old

        /// The least time since the last request.
        fileprivate var pause: Duration {
            switch self {
            case .missing: .seconds(5)
            case .left: .seconds(10)
            case .different: .seconds(30)
            case .old: .seconds(60)
            }
        }
    }

    /// The pause after a request that the engine did not answer with a route.
    private static let pauseAfterFailure: Duration = .seconds(60)
    /// The distance from the position of the last request, in metres, from which on the trackable counts as moving.
    private static let displacement: Meters = 50
    /// The time after which an unanswered request counts as failed.
    private static let timeout: Duration = .seconds(30)

    /// The number of the last request. An answer to an earlier request is out of date.
    private(set) var number = 0
    private var isPending = false
    private var hasFailed = false
    private var asked: (time: MonotonicTime, position: Coordinate)?

    /// Returns the number of a new request if one is due, and records it as sent; otherwise `nil`.
    mutating func ask(_ reason: Reason, from position: Coordinate, now: MonotonicTime) -> Int? {
        if let asked = self.asked {
            let elapsed = asked.time.duration(to: now)
            if self.isPending, elapsed < Self.timeout { return nil }
            let isMoving = asked.position.distance(to: position) >= Self.displacement
            guard isMoving || (reason == .missing && !self.hasFailed) else { return nil }
            guard elapsed >= (self.hasFailed ? Self.pauseAfterFailure : reason.pause) else { return nil }
        }
        self.number += 1
        self.isPending = true
        self.asked = (now, position)
        return self.number
    }

    /// Records that the engine answered the request with this number. Returns `false` for an answer that is out of date.
    mutating func answered(_ number: Int, isRoute: Bool) -> Bool {
        guard number == self.number, self.isPending else { return false }
        self.isPending = false
        self.hasFailed = !isRoute
        return true
    }

    /// Makes answers to earlier requests out of date and permits a new request at once, after a change of the journey.
    mutating func reset() {
        self.number += 1
        self.isPending = false
        self.hasFailed = false
        self.asked = nil
    }
}
