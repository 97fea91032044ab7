import TrackingCore

/// Decides which trackable's fixes are sent to the routing engine next, and remembers the requests that the engine has
/// not answered yet.
struct MatchRequests: Sendable {
    /// A request that the engine has not answered yet.
    struct Outstanding: Sendable {
        let id: TrackableID
        let request: MatchWindow.Request
    }

    private var circuit = EngineCircuit()
    /// The trackables whose fixes wait until a request may be sent, the longest wait first.
    private var waiting = RequestQueue()
    /// The requests that the engine has not answered yet, by their numbers.
    private var outstanding: [Int: Outstanding] = [:]
    private var count = 0

    /// `true` while the engine is away.
    var isEngineAway: Bool { self.circuit.isOpen }

    /// Returns `true` while the engine is away and must not be tried again yet.
    func isBlocked(now: MonotonicTime) -> Bool { self.circuit.isOpen && !self.circuit.mayStart(now: now) }

    /// Lets a trackable wait until a request for its fixes may be sent.
    mutating func enqueue(_ id: TrackableID) { self.waiting.append(id) }

    /// Removes and returns the trackable whose request may be sent now; `nil` when no request may be sent or no
    /// trackable waits.
    mutating func next(now: MonotonicTime) -> TrackableID? {
        self.circuit.mayStart(now: now) ? self.waiting.popFirst() : nil
    }

    /// Handles that a request is sent now.
    ///
    /// - Returns: The number of the request, with which its answer arrives.
    mutating func started(_ request: MatchWindow.Request, of id: TrackableID) -> Int {
        self.circuit.started()
        self.count += 1
        self.outstanding[self.count] = Outstanding(id: id, request: request)
        self.waiting.block(id)
        return self.count
    }

    /// Handles the engine's answer to the request of this number. The answer that it knows no road is not a failure of
    /// the engine.
    ///
    /// - Returns: The answered request, `nil` if its trackable was forgotten meanwhile; and the change in the
    ///   availability of the engine, `nil` without a change.
    mutating func answered(
        _ number: Int, _ result: Result<RoadMatch, TrackingError>, now: MonotonicTime
    ) -> (request: Outstanding?, change: EngineCircuit.Change?) {
        let change =
            if case .failure(let error) = result, error.code != .noRoad {
                self.circuit.failed(error, now: now)
            } else {
                self.circuit.succeeded(now: now)
            }
        let request = self.outstanding.removeValue(forKey: number)
        return (request, change)
    }

    /// Lets a trackable, whose request was answered, wait for its next request if it has new fixes.
    mutating func ended(_ request: Outstanding) { self.waiting.unblock(request.id) }

    /// Removes and returns all trackables that wait, because the engine is away.
    mutating func popAll() -> [TrackableID] { self.waiting.popAll() }

    /// Forgets a trackable. An answer that arrives later finds no request any more.
    mutating func forget(_ id: TrackableID) {
        self.waiting.remove(id)
        for (number, request) in self.outstanding where request.id == id { self.outstanding[number] = nil }
    }
}
