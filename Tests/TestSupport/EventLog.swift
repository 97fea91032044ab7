import Synchronization

/// The events that a test observes, in order. Tests wait for events with a deadline, and never sleep.
public final class EventLog<Element: Sendable>: Sendable {
    private struct Waiter {
        let id: Int
        let matches: @Sendable (Element) -> Bool
        var missing: Int
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

    /// All events so far.
    public var elements: [Element] { self.state.withLock { $0.elements } }

    /// `true` after ``finish()``, when no more events follow.
    public var isFinished: Bool { self.state.withLock { $0.isFinished } }

    /// Appends events.
    public func append(_ elements: some Sequence<Element>) {
        let answers = self.state.withLock { state -> [Waiter] in
            for element in elements {
                state.elements.append(element)
                for index in state.waiters.indices where state.waiters[index].matches(element) {
                    state.waiters[index].missing -= 1
                }
            }
            let met = state.waiters.filter { $0.missing <= 0 }
            state.waiters.removeAll { $0.missing <= 0 }
            return met
        }
        for waiter in answers { waiter.continuation.resume(returning: true) }
    }

    /// Marks the end of the events. Waiting callers return.
    public func finish() {
        let waiters = self.state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: false) }
    }

    /// Waits until `count` events of the log match, and returns all events. `what` names the awaited event in the
    /// error.
    ///
    /// - Throws: `TestSupportError` with the last 20 events, after `limit` or when the log is finished.
    @discardableResult
    public func wait(
        _ what: String, count: Int = 1, within limit: Duration = .seconds(60),
        where matches: @escaping @Sendable (Element) -> Bool
    ) async throws -> [Element] {
        guard await self.waits(count, within: limit, matches) else {
            let last = self.elements.suffix(20)
            throw TestSupportError("waited \(limit) in vain for \(what). The last events are \(last)")
        }
        return self.elements
    }

    /// Waits until the log is marked as finished, and returns all events.
    @discardableResult
    public func waitForEnd(within limit: Duration = .seconds(60)) async throws -> [Element] {
        _ = await self.waits(.max, within: limit) { _ in false }
        guard self.isFinished else { throw TestSupportError("the events did not end within \(limit)") }
        return self.elements
    }

    private func waits(
        _ count: Int, within limit: Duration, _ matches: @escaping @Sendable (Element) -> Bool
    ) async -> Bool {
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.wait(id, count, matches) }
            group.addTask {
                try? await Task.sleep(for: limit)
                self.give(up: id)
                return false
            }
            let isMet = await group.next() ?? false
            group.cancelAll()
            return isMet
        }
    }

    private func wait(_ id: Int, _ count: Int, _ matches: @escaping @Sendable (Element) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = self.state.withLock { state -> Bool? in
                let missing = count - state.elements.lazy.filter(matches).prefix(count).count
                if missing <= 0 { return true }
                if state.isFinished { return false }
                state.waiters.append(Waiter(id: id, matches: matches, missing: missing, continuation: continuation))
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
}
