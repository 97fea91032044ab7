import Synchronization
package import TrackingRuntime

/// The link from the sources of fixes to the publisher that runs now. Between two publishers, values wait for the next
/// one.
package final class PublisherRelay<Publisher: Sendable>: Sendable {
    /// Passes a value to a publisher without waiting. It resumes the receipt when the next value may be delivered.
    package typealias Delivery = @Sendable (Publisher, Receipt) -> Void

    private enum State {
        /// Between two publishers. Can transition to: `connected`, `finished`.
        case waiting([(deliver: Delivery, receipt: Receipt)])
        /// A publisher runs. Can transition to: `waiting`, `finished`.
        case connected(Publisher)
        /// No publisher will follow. Final.
        case finished
    }

    private let state = Mutex(State.waiting([]))

    /// Makes a relay without a publisher.
    package init() {}

    /// The present publisher; `nil` between two.
    package var publisher: Publisher? {
        self.state.withLock { if case .connected(let publisher) = $0 { publisher } else { nil } }
    }

    /// Delivers a value to the present publisher, or else to the next one.
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

    /// Makes this publisher the present one: it gets the waiting values and all later ones. Does nothing unless the
    /// relay is between two publishers.
    package func connect(to publisher: Publisher) {
        self.state.withLock { state in
            guard case .waiting(let waiting) = state else { return }
            for (deliver, receipt) in waiting { deliver(publisher, receipt) }
            state = .connected(publisher)
        }
    }

    /// Ends the delivery to the present publisher. Later values wait for the next publisher.
    package func disconnect() { self.state.withLock { if case .connected = $0 { $0 = .waiting([]) } } }

    /// Ends the delivery: waiting callers return, and later values are discarded.
    package func finish() {
        self.state.withLock { state in
            if case .waiting(let waiting) = state { for (_, receipt) in waiting { receipt.resume() } }
            state = .finished
        }
    }
}
