package import TrackingCore

/// The one way into a decider's task: whoever has something to tell posts it, one task takes it out in order.
package struct Mailbox<Event: Sendable>: Sendable {
    /// An event, and who waits until it has been dealt with.
    package struct Envelope: Sendable {
        package let event: Event
        package let receipt: CheckedContinuation<Void, Never>?
    }

    package let envelopes: AsyncStream<Envelope>
    private let continuation: AsyncStream<Envelope>.Continuation

    package init() {
        (self.envelopes, self.continuation) = AsyncStream.makeStream(of: Envelope.self)
    }

    /// Tells the decider; returns at once.
    package func post(_ event: Event) {
        self.continuation.yield(Envelope(event: event, receipt: nil))
    }

    /// Tells the decider and returns when it says so: what keeps a fast teller from filling memory.
    package func postAndWait(_ event: Event) async {
        await withCheckedContinuation { receipt in
            if case .terminated = self.continuation.yield(Envelope(event: event, receipt: receipt)) { receipt.resume() }
        }
    }

    /// Tells the decider a batch, and waits for it now and then and at the end: a fast teller fills no memory, and what others
    /// post meanwhile waits behind ``stride`` events at most.
    package func postAndWait(_ events: some Collection<Event>) async {
        for (index, event) in events.enumerated() {
            if (index + 1) % Self.stride == 0 || index == events.count - 1 {
                await self.postAndWait(event)
            } else {
                self.post(event)
            }
        }
    }

    /// How many events of a batch are posted without waiting.
    package static var stride: Int { 256 }

    /// Nothing is taken in any more; whoever waits is let go.
    package func close() async {
        self.continuation.finish()
        for await envelope in self.envelopes { envelope.receipt?.resume() }
    }
}

/// Posts one event at each deadline of a decider: re-armed after each step, it keeps at most one task asleep a deadline.
package struct Alarm: Sendable {
    private var armed: MonotonicTime?

    package init() {}

    /// Returns the deadline to sleep for, when there is none asleep that comes early enough.
    package mutating func arm(_ deadline: MonotonicTime?, now: MonotonicTime) -> MonotonicTime? {
        if let armed = self.armed, armed <= now { self.armed = nil }
        guard let deadline, self.armed.map({ deadline < $0 }) ?? true else { return nil }
        self.armed = deadline
        return deadline
    }
}
