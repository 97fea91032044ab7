import Synchronization
package import TrackingRuntime

/// The link from the sources of fixes to the publisher that runs now. While no publisher runs, fixes and other values
/// wait for the next publisher.
package final class PublisherRelay<Publisher: Sendable>: Sendable {
    /// The type of a function that gives a value, such as a fix, to a publisher and returns at once. The publisher
    /// resumes the receipt, a signal to the waiting task, when the next value may be delivered.
    package typealias Delivery = @Sendable (Publisher, Receipt) -> Void

    private enum State {
        /// No publisher is connected, and values wait for the next one. Can transition to: `connected`, `finished`.
        case waiting([(deliver: Delivery, receipt: Receipt)])
        /// A publisher is connected and gets each value at once. Can transition to: `waiting`, `finished`.
        case connected(Publisher)
        /// No publisher will be connected any more, and values are discarded. Final.
        case finished
    }

    private let state = Mutex(State.waiting([]))

    /// Makes a relay to which no publisher is connected. Fixes and other values wait until one is connected.
    package init() {}

    /// The publisher that is connected now; `nil` while none is connected.
    package var publisher: Publisher? {
        self.state.withLock { if case .connected(let publisher) = $0 { publisher } else { nil } }
    }

    /// Delivers a value, such as a fix, to the connected publisher, or else to the next one that is connected. After
    /// ``finish()``, discards the value.
    ///
    /// Returns when the next value may be delivered, or when the task is cancelled.
    package func deliver(_ delivery: @escaping Delivery) async {
        let receipt = Receipt()
        self.state.withLock { state in
            switch state {
            case .waiting(let waiting): state = .waiting(waiting + [(delivery, receipt)])
            case .connected(let publisher): delivery(publisher, receipt)
            case .finished: receipt.resume()
            }
        }
        await receipt.wait()
    }

    /// Connects a publisher: it gets the waiting values and all later ones. Does nothing if another publisher is
    /// connected, or if the relay has finished.
    package func connect(to publisher: Publisher) {
        self.state.withLock { state in
            guard case .waiting(let waiting) = state else { return }
            for (deliver, receipt) in waiting { deliver(publisher, receipt) }
            state = .connected(publisher)
        }
    }

    /// Disconnects the connected publisher, if there is one. Later values wait for the next publisher.
    package func disconnect() { self.state.withLock { if case .connected = $0 { $0 = .waiting([]) } } }

    /// Ends the delivery for good: waiting callers of ``deliver(_:)`` return, and waiting and later values are
    /// discarded.
    package func finish() {
        self.state.withLock { state in
            if case .waiting(let waiting) = state { for (_, receipt) in waiting { receipt.resume() } }
            state = .finished
        }
    }
}
