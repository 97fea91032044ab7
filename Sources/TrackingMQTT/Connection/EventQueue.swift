import Synchronization
import TrackingCore

/// Events on their way from the loop to the role: bounded by asking the loop not to read on.
final class EventQueue: Sendable {
    /// A `.connected` always begins a chunk: what the role asks before it has been handed one is for the connection before.
    private struct Chunk {
        var events: [TransportEvent]
        var bytes: Int
        let connection: Int
    }

    private struct State {
        var chunks: [Chunk] = []
        var count = 0
        var bytes = 0
        var isFull = false
        var isFinished = false
        var waiter: CheckedContinuation<[TransportEvent]?, Never>?
        var onRoom: (@Sendable () -> Void)?

        mutating func add(_ events: [TransportEvent], bytes: Int, connection: Int) {
            self.count += events.count
            self.bytes += bytes
            if let last = self.chunks.indices.last, self.chunks[last].connection == connection {
                self.chunks[last].events.append(contentsOf: events)
                self.chunks[last].bytes += bytes
            } else {
                self.chunks.append(Chunk(events: events, bytes: bytes, connection: connection))
            }
        }

        mutating func takeFirst() -> Chunk? {
            guard !self.chunks.isEmpty else { return nil }
            let chunk = self.chunks.removeFirst()
            self.count -= chunk.events.count
            self.bytes -= chunk.bytes
            return chunk
        }
    }

    private let limits: MQTTConfiguration.Limits
    private let state = Mutex(State())
    private let known = Atomic<Int>(-1)

    init(limits: MQTTConfiguration.Limits) { self.limits = limits }

    /// The connection whose `.connected` was last handed over; -1 before the first.
    var knownConnection: Int { self.known.load(ordering: .acquiring) }

    /// Whether the loop may read on.
    var hasRoom: Bool { self.state.withLock { !$0.isFull } }

    /// Whether so much waits that not even what shows that the connection lives is read.
    var isOverfull: Bool {
        self.state.withLock {
            $0.count > 2 * self.limits.waitingEvents || $0.bytes > 2 * self.limits.waitingBytes
        }
    }

    /// Says what is called, once, when there is room again after ``append(_:bytes:connection:)`` found none.
    func listen(_ onRoom: (@Sendable () -> Void)?) { self.state.withLock { $0.onRoom = onRoom } }

    /// Adds a batch that belongs to one connection.
    ///
    /// - Returns: Whether there is room for more.
    func append(_ events: [TransportEvent], bytes: Int, connection: Int) -> Bool {
        let (waiter, hasRoom) = self.state.withLock { state in
            if let waiter = state.waiter.take() {
                self.known.store(connection, ordering: .releasing)
                return (Optional(waiter), true)
            }
            state.add(events, bytes: bytes, connection: connection)
            state.isFull = state.count >= self.limits.waitingEvents || state.bytes >= self.limits.waitingBytes
            return (nil, !state.isFull)
        }
        waiter?.resume(returning: events)
        return hasRoom
    }

    /// Nothing comes any more.
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }

    /// The next batch; `nil` at the end, or when the task is cancelled.
    func next() async -> [TransportEvent]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (answer, onRoom) = self.state.withLock { self.answer(&$0, to: continuation) }
                onRoom?()
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = self.state.withLock { $0.waiter.take() }
            waiter?.resume(returning: nil)
        }
    }

    /// What is there now, twice optional: `nil` says that the continuation waits, and `.some(nil)` that all is over.
    private func answer(
        _ state: inout State, to continuation: CheckedContinuation<[TransportEvent]?, Never>
    ) -> ([TransportEvent]??, (@Sendable () -> Void)?) {
        guard let chunk = state.takeFirst() else {
            if state.isFinished || Task.isCancelled { return (.some(nil), nil) }
            precondition(state.waiter == nil, "the events of a connection are for one task")
            state.waiter = continuation
            return (nil, nil)
        }
        self.known.store(chunk.connection, ordering: .releasing)
        let hasRoom = state.count <= self.limits.waitingEvents / 2 && state.bytes <= self.limits.waitingBytes / 2
        guard state.isFull, hasRoom else { return (chunk.events, nil) }
        state.isFull = false
        return (chunk.events, state.onRoom)
    }
}
