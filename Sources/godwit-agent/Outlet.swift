import Synchronization
import TrackingRuntime

/// Where what is read goes: to the publisher that runs. Between two publishers it waits for the next one, so that nothing is
/// lost where one takes the other's place.
final class Outlet<Publisher: Sendable>: Sendable {
    /// Hands something over without waiting; the receipt is to be let go when more may come.
    typealias Handover = @Sendable (Publisher, Receipt) -> Void

    private enum State {
        /// Can transition to: `open`, `over`.
        case between([(give: Handover, receipt: Receipt)])
        /// Can transition to: `between`, `over`.
        case open(Publisher)
        /// Nothing is handed over any more. Final.
        case over
    }

    private let state = Mutex(State.between([]))

    /// Who takes it now; `nil` between two.
    var publisher: Publisher? {
        self.state.withLock { if case .open(let publisher) = $0 { publisher } else { nil } }
    }

    /// Hands something over, now or to the next publisher; returns when more may come, or when the task is cancelled.
    func hand(_ give: @escaping Handover) async {
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

    /// A publisher takes what waits and what comes.
    func open(_ publisher: Publisher) {
        self.state.withLock { state in
            guard case .between(let waiting) = state else { return }
            for (give, receipt) in waiting { give(publisher, receipt) }
            state = .open(publisher)
        }
    }

    /// The publisher takes nothing any more; another one will.
    func close() { self.state.withLock { if case .open = $0 { $0 = .between([]) } } }

    /// There will be no other publisher: whoever waits is let go.
    func end() {
        self.state.withLock { state in
            if case .between(let waiting) = state { for (_, receipt) in waiting { receipt.resume() } }
            state = .over
        }
    }
}
