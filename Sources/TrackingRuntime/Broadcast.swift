public import Synchronization

/// Delivers each element to any number of listeners. Each listener has a buffer of its own.
///
/// A slow listener loses the oldest elements of its own buffer and delays no other listener. A listener can also ask
/// for an unlimited buffer, so that it loses nothing. The sender then calls ``caughtUp()``, which waits for such
/// listeners.
///
/// The type is inlinable, so that it is specialised for the type of its elements.
public final class Broadcast<Element: Sendable>: Sendable {
    @usableFromInline
    struct Place {
        @usableFromInline weak var listener: Listener<Element>?

        @inlinable
        init(listener: Listener<Element>) { self.listener = listener }
    }

    @usableFromInline
    struct State {
        @usableFromInline var places: [Int: Place] = [:]
        @usableFromInline var next = 0
        @usableFromInline var lost = 0
        @usableFromInline var isFinished = false
        /// One receipt, a signal to a waiting task, for each sender that waits in ``Broadcast/caughtUp()``. Resuming
        /// the receipt lets its sender continue.
        @usableFromInline var waiting: [Receipt] = []

        @inlinable
        init() {}

        @inlinable var listeners: [Listener<Element>] { self.places.values.compactMap { $0.listener } }
    }

    @usableFromInline let state = Mutex(State())
    @usableFromInline let buffer: Int
    @usableFromInline let bytes: Int
    @usableFromInline let size: @Sendable (Element) -> Int

    /// Makes a broadcast without listeners.
    ///
    /// - Parameters:
    ///   - buffer: The maximum number of elements that wait for one slow listener, at least 1.
    ///   - bytes: The maximum number of bytes that wait for one slow listener.
    ///   - size: Returns the approximate number of bytes of an element; 0 if only the number of elements is limited.
    @inlinable
    public init(buffer: Int, bytes: Int = .max, size: @escaping @Sendable (Element) -> Int = { _ in 0 }) {
        self.buffer = buffer
        self.bytes = bytes
        self.size = size
    }

    deinit { self.finish() }

    /// The number of elements that slow listeners have lost since the start, all listeners together.
    public var lost: Int { self.state.withLock { $0.lost } }

    /// Adds a listener. The returned stream delivers the elements that are sent from now on, without those that its
    /// buffer loses. It ends with ``finish()``, or when its reader is cancelled.
    ///
    /// - Parameter losingNothing: `true` for an unlimited buffer, so that the listener loses no element. The sender
    ///   must then call ``caughtUp()`` from time to time.
    @inlinable
    public func listen(losingNothing: Bool = false) -> AsyncStream<Element> {
        let buffer = BoundedBuffer<Element>(
            count: losingNothing ? .max : self.buffer, bytes: losingNothing ? .max : self.bytes)
        let limit = ListenerLimit(count: self.buffer, bytes: self.bytes)
        let listener = self.state.withLock { state in
            state.next += 1
            let key = state.next
            let listener = Listener(buffer: buffer, limit: limit) { [weak self] isEnd in
                if isEnd { _ = self?.state.withLock { $0.places.removeValue(forKey: key) } }
                self?.wakeWaiting()
            }
            if state.isFinished { listener.finish() } else { state.places[key] = Place(listener: listener) }
            return listener
        }
        return AsyncStream { await listener.next() }
    }

    /// Sends an element to every listener. A reader that waits gets it at once; for any other listener, it is added to
    /// the listener's buffer.
    @inlinable
    public func deliver(_ element: Element) {
        let listeners = self.state.withLock { $0.listeners }
        guard !listeners.isEmpty else { return }
        let bytes = self.size(element)
        let lost = listeners.reduce(0) { $0 + $1.deliver(element, bytes: bytes) }
        if lost > 0 { self.state.withLock { $0.lost += lost } }
    }

    /// Waits until no listener is behind. A listener with an unlimited buffer is behind while more elements or bytes
    /// wait for it than a limited buffer would hold. Returns early when the task is cancelled.
    public func caughtUp() async {
        while !Task.isCancelled, self.isAnyListenerBehind {
            let receipt = Receipt()
            self.state.withLock { $0.waiting.append(receipt) }
            // A listener that caught up just before the receipt was in the list did not resume it.
            guard self.isAnyListenerBehind else { return self.wakeWaiting() }
            await receipt.wait()
        }
    }

    private var isAnyListenerBehind: Bool {
        self.state.withLock { $0.listeners }.contains { $0.isBehind }
    }

    /// Wakes every sender that waits in ``caughtUp()``, so that it checks again if a listener is behind.
    @usableFromInline
    func wakeWaiting() {
        let waiting = self.state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for receipt in waiting { receipt.resume() }
    }

    /// Ends every stream once it has delivered the elements that wait.
    public func finish() {
        let listeners = self.state.withLock { state in
            state.isFinished = true
            return state.listeners
        }
        for listener in listeners { listener.finish() }
    }
}

/// The limit by which a listener counts as behind: a number of waiting elements, and a number of their bytes. A
/// listener is behind if more elements or more bytes wait for it. A listener with a single waiting element is never
/// behind.
@usableFromInline
struct ListenerLimit: Sendable {
    @usableFromInline let count: Int
    @usableFromInline let bytes: Int

    @inlinable
    init(count: Int, bytes: Int) {
        self.count = count
        self.bytes = bytes
    }

    @inlinable
    func isExceeded<Element>(by buffer: BoundedBuffer<Element>) -> Bool {
        buffer.count > 1 && (buffer.count > self.count || buffer.bytes > self.bytes)
    }
}

/// One listener's stream and buffer in a broadcast. It is released together with the stream.
@usableFromInline
final class Listener<Element: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var buffer: BoundedBuffer<Element>
        @usableFromInline var waiter: CheckedContinuation<Element?, Never>?
        @usableFromInline var isFinished = false

        @inlinable
        init(buffer: BoundedBuffer<Element>) { self.buffer = buffer }
    }

    @usableFromInline let state: Mutex<State>
    @usableFromInline let limit: ListenerLimit
    /// The function that the listener calls when its reader has caught up (with `false`) and when the listener is
    /// released (with `true`).
    @usableFromInline let onProgress: @Sendable (_ isEnd: Bool) -> Void

    @inlinable
    init(
        buffer: BoundedBuffer<Element>, limit: ListenerLimit, onProgress: @escaping @Sendable (_ isEnd: Bool) -> Void
    ) {
        self.state = Mutex(State(buffer: buffer))
        self.limit = limit
        self.onProgress = onProgress
    }

    @inlinable
    deinit { self.onProgress(true) }

    /// Gives an element to the reader of the listener's stream if the reader waits. Otherwise adds the element to the
    /// listener's buffer.
    ///
    /// - Returns: The number of older elements that were dropped from the buffer.
    @inlinable
    func deliver(_ element: Element, bytes: Int) -> Int {
        let (waiter, lost) = self.state.withLock { state -> (CheckedContinuation<Element?, Never>?, Int) in
            guard !state.isFinished else { return (nil, 0) }
            if let waiter = state.waiter.take() { return (waiter, 0) }
            return (nil, state.buffer.append(element, bytes: bytes))
        }
        waiter?.resume(returning: element)
        return lost
    }

    /// `true` while more elements or bytes wait for the listener than the limit allows.
    var isBehind: Bool { self.state.withLock { self.limit.isExceeded(by: $0.buffer) } }

    /// Ends the stream once it has delivered the elements that wait.
    @inlinable
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }

    /// Returns the next element for this listener, and waits for it if the buffer is empty. Returns `nil` at the end of
    /// the stream, or when the task is cancelled.
    @inlinable
    func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (answer, hasCaughtUp) = self.state.withLock { state -> (Element??, Bool) in
                    let wasBehind = self.limit.isExceeded(by: state.buffer)
                    if let element = state.buffer.popFirst() {
                        return (.some(element), wasBehind && !self.limit.isExceeded(by: state.buffer))
                    }
                    if state.isFinished || Task.isCancelled { return (.some(nil), false) }
                    precondition(state.waiter == nil, "a stream is for one task")
                    state.waiter = continuation
                    return (nil, false)
                }
                if hasCaughtUp { self.onProgress(false) }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = self.state.withLock { $0.waiter.take() }
            waiter?.resume(returning: nil)
        }
    }
}
