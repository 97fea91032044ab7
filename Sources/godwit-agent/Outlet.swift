import Synchronization
import TrackingRuntime

/// The way from the sources to the publisher that runs. Between two publishers, values wait for the next one, so that
/// none is lost.
final class Outlet<Publisher: Sendable>: Sendable {
    /// Delivers a value to a publisher without waiting. Resumes the receipt when the caller may deliver the next one.
    typealias Handover = @Sendable (Publisher, Receipt) -> Void

    private enum State {
        /// Between two publishers. Can transition to: `open`, `over`.
        case between([(give: Handover, receipt: Receipt)])
        /// A publisher runs. Can transition to: `between`, `over`.
        case open(Publisher)
        /// No publisher will follow. Final.
        case over
    }

    private let state = Mutex(State.between([]))

    /// The present publisher; `nil` between two.
    var publisher: Publisher? {
        self.state.withLock { if case .open(let publisher) = $0 { publisher } else { nil } }
    }

    /// Delivers a value to the present or the next publisher. Returns when the next value may come, or when the task is
    /// cancelled.
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

    /// Delivers waiting and later values to this publisher.
    func open(_ publisher: Publisher) {
        self.state.withLock { state in
            guard case .between(let waiting) = state else { return }
            for (give, receipt) in waiting { give(publisher, receipt) }
            state = .open(publisher)
        }
    }

    /// Lets values wait for the next publisher.
    func close() { self.state.withLock { if case .open = $0 { $0 = .between([]) } } }

    /// Ends the delivery: waiting callers return, and later values are discarded.
    func end() {
        self.state.withLock { state in
            if case .between(let waiting) = state { for (_, receipt) in waiting { receipt.resume() } }
            state = .over
        }
    }
}
