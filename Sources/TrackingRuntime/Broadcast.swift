private import Synchronization

/// One teller, any number of listeners, each with a buffer of its own: a slow listener loses the oldest of its own buffer
/// and holds nobody up.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
        var next = 0
        var isFinished = false
    }

    private let state = Mutex(State())
    private let buffer: Int

    /// - Parameter buffer: How many elements are kept for a listener that does not keep up.
    package init(buffer: Int) { self.buffer = buffer }

    /// A new listener; it hears everything from now on.
    package func listen() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(self.buffer))
        let key: Int? = self.state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        guard let key else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: key) }
        }
        return stream
    }

    /// Tells every listener.
    package func tell(_ element: Element) {
        for listener in self.state.withLock({ Array($0.listeners.values) }) { listener.yield(element) }
    }

    /// Nothing more will be told.
    package func finish() {
        let listeners = self.state.withLock { state in
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
