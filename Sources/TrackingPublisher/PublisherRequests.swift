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

    /// Adds a caller's request, with the closure that receives the progress and the answer.
    ///
    /// - Returns: The number of the request; `nil` if the publisher has ended, so that the request is not accepted.
    mutating func add(_ receiver: @escaping Receiver) -> UInt64? {
        guard !self.hasEnded else { return nil }
        self.lastNumber += 1
        self.receivers[self.lastNumber] = receiver
        return self.lastNumber
    }

    /// Returns the closure that receives the replies to a caller's request, without ending the request; `nil` for an
    /// unknown number.
    func receiver(of number: UInt64) -> Receiver? { self.receivers[number] }

    /// Removes a caller's request that is answered now, and returns the closure that receives the answer; `nil` for an
    /// unknown number.
    mutating func remove(_ number: UInt64) -> Receiver? { self.receivers.removeValue(forKey: number) }

    /// Removes all requests of callers, because the publisher has ended, and accepts no further ones.
    ///
    /// - Returns: The closures of the removed requests, which must still receive an answer.
    mutating func end() -> [Receiver] {
        self.hasEnded = true
        defer { self.receivers = [:] }
        return Array(self.receivers.values)
    }
}
