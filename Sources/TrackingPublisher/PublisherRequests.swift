import TrackingCore

/// The requests of callers that a publisher's task has not answered, each with the closure that receives its replies.
struct PublisherRequests: Sendable {
    typealias Answer = PublisherStateMachine.Answer

    /// A message from the publisher's task about a request: its progress or its answer.
    enum Reply: Sendable {
        case progressed(done: Int, total: Int)
        case answered(Result<Answer, TrackingError>)
    }

    /// A closure that receives the progress and the answer of a request.
    typealias Receiver = @Sendable (Reply) -> Void

    private var receivers: [UInt64: Receiver] = [:]
    private var lastNumber: UInt64 = 0
    /// `true` after the publisher ended. Further requests are not accepted.
    private(set) var hasEnded = false

    /// Adds a request.
    ///
    /// - Returns: The number of the request; `nil` after the publisher ended.
    mutating func add(_ receiver: @escaping Receiver) -> UInt64? {
        guard !self.hasEnded else { return nil }
        self.lastNumber += 1
        self.receivers[self.lastNumber] = receiver
        return self.lastNumber
    }

    /// Returns the receiver of a request that goes on; `nil` for an unknown number.
    func receiver(of number: UInt64) -> Receiver? { self.receivers[number] }

    /// Removes a request because its answer follows, and returns its receiver; `nil` for an unknown number.
    mutating func remove(_ number: UInt64) -> Receiver? { self.receivers.removeValue(forKey: number) }

    /// Ends all requests, and accepts no further ones.
    ///
    /// - Returns: The receivers of the requests without an answer.
    mutating func end() -> [Receiver] {
        self.hasEnded = true
        defer { self.receivers = [:] }
        return Array(self.receivers.values)
    }
}
