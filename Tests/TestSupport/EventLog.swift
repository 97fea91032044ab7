import Synchronization

/// What happened in a test, in order, and a way to wait for it: never by sleeping, always with a deadline.
public final class EventLog<Element: Sendable>: Sendable {
    private struct Waiter {
        let id: Int
        let condition: @Sendable ([Element]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var elements: [Element] = []
        var waiters: [Waiter] = []
        var nextID = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Makes an empty log.
    public init() {}

    /// Everything so far.
    public var elements: [Element] { self.state.withLock { $0.elements } }

    /// Whether nothing comes any more.
    public var isFinished: Bool { self.state.withLock { $0.isFinished } }

    /// Notes what happened.
    public func append(_ elements: some Sequence<Element>) {
        self.wake { $0.elements.append(contentsOf: elements) }
    }

    /// Nothing comes any more.
    public func finish() { self.wake { $0.isFinished = true } }

    /// Waits until `condition` holds for everything that happened, and returns that.
    ///
    /// - Throws: `TestSupportError` with what happened instead, after `limit` or when nothing comes any more.
    @discardableResult
    public func wait(
        _ what: String, within limit: Duration = .seconds(20), until condition: @escaping @Sendable ([Element]) -> Bool
    ) async throws -> [Element] {
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isMet = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.wait(id, condition) }
            group.addTask {
                try? await Task.sleep(for: limit)
                self.give(up: id)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        let elements = self.elements
        guard isMet || condition(elements) else {
            throw TestSupportError("waited \(limit) for \(what); instead: \(elements.suffix(20))")
        }
        return elements
    }

    private func wait(_ id: Int, _ condition: @escaping @Sendable ([Element]) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = self.state.withLock { state -> Bool? in
                if condition(state.elements) { return true }
                if state.isFinished { return false }
                state.waiters.append(Waiter(id: id, condition: condition, continuation: continuation))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func give(up id: Int) {
        let waiter = self.state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
    }

    private func wake(_ change: (inout State) -> Void) {
        let answers = self.state.withLock { state -> [(Waiter, Bool)] in
            change(&state)
            let met = state.waiters.map { ($0, $0.condition(state.elements)) }.filter { $0.1 || state.isFinished }
            state.waiters.removeAll { waiter in met.contains { $0.0.id == waiter.id } }
            return met
        }
        for (waiter, isMet) in answers { waiter.continuation.resume(returning: isMet) }
    }
}
