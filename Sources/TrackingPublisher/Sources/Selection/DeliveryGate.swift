import Synchronization

/// A gate through which several running sources deliver their events one after the other, never two at once.
/// ``LocationSource/run(deliver:)`` requires this.
final class DeliveryGate: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Runs `body` as soon as no other body is running in this gate.
    func pass(_ body: () async -> Void) async {
        await self.enter()
        await body()
        self.leave()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = self.state.withLock { state in
                if state.isTaken {
                    state.waiting.append(continuation)
                    return false
                }
                state.isTaken = true
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave() {
        let next = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiting.isEmpty {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
