import Synchronization

/// Lets one at a time through: events of two sources that overlap stay one after the other, as whoever takes them in was promised.
final class DeliveryGate: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Runs `body` once no other runs.
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
