import Synchronization
import TrackingRuntime

/// The passage for values (fixes and events) from the agent's sources to the publisher that runs. Between two
/// publishers, values wait for the next one, so that no value is lost.
final class Outlet<Publisher: Sendable>: Sendable {
    /// Delivers one value to a publisher without waiting. The receipt is resumed when the next value may be delivered.
    typealias Handover = @Sendable (Publisher, Receipt) -> Void

    private enum State {
        /// No publisher runs at present, and values wait for the next one. Can transition to: `open`, `over`.
        case between([(give: Handover, receipt: Receipt)])
        /// A publisher runs and receives the values. Can transition to: `between`, `over`.
        case open(Publisher)
        /// No publisher runs, and none will follow. Values are discarded. Final.
        case over
    }

    private let state = Mutex(State.between([]))

    /// The publisher that receives values at present; `nil` if none runs.
    var publisher: Publisher? {
        self.state.withLock { if case .open(let publisher) = $0 { publisher } else { nil } }
    }

    /// Delivers a value to the present or the next publisher. Returns when the next value may be delivered, or when the
    /// task is cancelled.
    func deliver(_ give: @escaping Handover) async {
        let receipt = Receipt()
        self.state.withLock { state in
            switch state {
            case .between(let waiting): state = .between(waiting + [(give, receipt)])
            case .open(let publisher): give(publisher, receipt)
            case .over: receipt.resume()
            }
        }
        await receipt.wait()
    }

    /// Delivers the waiting values and all later ones to this publisher.
    func open(_ publisher: Publisher) {
        self.state.withLock { state in
            guard case .between(let waiting) = state else { return }
            for (give, receipt) in waiting { give(publisher, receipt) }
            state = .open(publisher)
        }
    }

    /// Ends the delivery to the present publisher. Later values wait for the next publisher.
    func close() { self.state.withLock { if case .open = $0 { $0 = .between([]) } } }

    /// Ends the delivery for good: waiting callers return, and later values are discarded.
    func end() {
        self.state.withLock { state in
            if case .between(let waiting) = state { for (_, receipt) in waiting { receipt.resume() } }
            state = .over
        }
    }
}
