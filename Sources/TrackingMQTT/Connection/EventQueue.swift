import Synchronization
import TrackingCore

/// The queue of events (connects, answers, messages) from a broker connection to the program that reads them: a
/// publisher, subscriber or recorder. When the queue is full, the event loop stops reading from the connection.
final class EventQueue: Sendable {
    /// A part of the queue with events of only one connection to the broker. The queue thereby knows the connection of
    /// which its reader has received the last event. Commands that the reader sends are for that connection.
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

    /// The number of the connection whose events the reader received last; -1 before the first events.
    var knownConnection: Int { self.known.load(ordering: .acquiring) }

    /// `true` while the queue has room for events, so that the event loop may read from the broker's connection. A
    /// queue that was full has room again when the unread events are at most half of its limits, by number and by
    /// bytes.
    var hasRoom: Bool { self.state.withLock { !$0.isFull } }

    /// `true` when the queue exceeds twice its limits. The event loop then reads nothing at all from the broker, not
    /// even single packets that show that the broker is alive.
    var isOverfull: Bool {
        self.state.withLock {
            $0.count > 2 * self.limits.waitingEvents || $0.bytes > 2 * self.limits.waitingBytes
        }
    }

    /// Sets the closure that wakes the event loop when a full queue has room again; `nil` removes the closure. The
    /// queue calls the closure once for each time that the queue was full.
    func listen(_ onRoom: (@Sendable () -> Void)?) { self.state.withLock { $0.onRoom = onRoom } }

    /// Appends a batch of events of one connection to the queue, or passes it directly to a reader that waits.
    ///
    /// - Returns: `true` while the queue has room for more events.
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

    /// Ends the queue. Its reader gets the remaining events, and then `nil`.
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }

    /// Returns the next batch of events, and waits until there is one. Returns `nil` when no event is left and the
    /// queue has ended or the task is cancelled.
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

    /// Returns the batch of events that can be read now, or stores the continuation until there is one.
    ///
    /// - Returns: The first element is the answer for the reader: `nil` if the continuation was stored, `.some(nil)` at
    ///   the end of the queue, otherwise the events. The second element is a closure to call if the full queue has room
    ///   again; `nil` otherwise.
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
