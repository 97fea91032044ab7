private import Synchronization
public import TrackingCore

/// Batches of events between the event loop and one consumer, with high and low water marks.
final class EventQueue: Sendable {
    private struct State {
        var events: [TransportEvent] = []
        var waiter: CheckedContinuation<[TransportEvent]?, Never>?
        var isFinished = false
        var isHeldBack = false
    }

    /// The most events that wait before the connection stops reading.
    static let highWater = 4096

    private let state = Mutex(State())

    /// - Returns: Whether the connection is to go on reading.
    func append(_ events: [TransportEvent]) -> Bool {
        let (waiter, batch, goesOn) = self.state.withLock { state -> (CheckedContinuation<[TransportEvent]?, Never>?, [TransportEvent], Bool) in
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, events, true)
            }
            state.events += events
            if state.events.count > Self.highWater { state.isHeldBack = true }
            return (nil, [], !state.isHeldBack)
        }
        waiter?.resume(returning: batch)
        return goesOn
    }

    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// Everything that waits; `nil` at the end or when cancelled. The consumer took it all, so reading may go on.
    func next(onDrained: @Sendable () -> Void) async -> [TransportEvent]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (batch, isOver, wasHeldBack) = self.state.withLock { state -> ([TransportEvent]?, Bool, Bool) in
                    if !state.events.isEmpty {
                        defer { (state.events, state.isHeldBack) = ([], false) }
                        return (state.events, false, state.isHeldBack)
                    }
                    if state.isFinished || Task.isCancelled { return (nil, true, false) }
                    state.waiter = continuation
                    return (nil, false, false)
                }
                if wasHeldBack { onDrained() }
                if let batch { continuation.resume(returning: batch) } else if isOver { continuation.resume(returning: nil) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}

/// The events of one connection, in order, in batches: what one pass of the event loop brought.
///
/// While it is not read, the broker is held back. For one reader.
public struct MQTTEvents: AsyncSequence, Sendable {
    let connection: MQTTConnection

    /// Reads batches until the connection is closed for good or the task is cancelled.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let connection: MQTTConnection

        /// The next batch.
        public mutating func next() async -> [TransportEvent]? {
            await self.next(isolation: #isolation)
        }

        /// The next batch.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> [TransportEvent]? {
            let connection = self.connection
            return await connection.queue.next { connection.resumeReading() }
        }
    }

    /// Makes the one reader.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(connection: self.connection) }
}
