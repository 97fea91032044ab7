public import Synchronization

/// One teller, any number of listeners, each with a buffer of its own: a slow listener loses the oldest of its own buffer
/// and holds nobody up, unless it is to lose nothing and whoever tells waits for it. Inlinable, so that it is compiled for the elements of its users.
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

        @inlinable
        init() {}

        @inlinable var listeners: [Listener<Element>] { self.places.values.compactMap { $0.listener } }
    }

    @usableFromInline let state = Mutex(State())
    @usableFromInline let buffer: Int
    @usableFromInline let bytes: Int
    @usableFromInline let size: @Sendable (Element) -> Int

    /// - Parameters:
    ///   - buffer: How many elements are kept for a listener that does not keep up.
    ///   - bytes: How many bytes are.
    ///   - size: About how many bytes an element takes; 0 where only their count is bounded.
    @inlinable
    public init(buffer: Int, bytes: Int = .max, size: @escaping @Sendable (Element) -> Int = { _ in 0 }) {
        self.buffer = buffer
        self.bytes = bytes
        self.size = size
    }

    deinit { self.finish() }

    /// How many elements listeners lost that did not keep up.
    public var lost: Int { self.state.withLock { $0.lost } }

    /// A new listener; it hears everything from now on, until its stream is cancelled or let go.
    ///
    /// - Parameter losingNothing: Whether everything is kept for it: whoever tells is to wait for ``caughtUp()`` now and then.
    @inlinable
    public func listen(losingNothing: Bool = false) -> AsyncStream<Element> {
        let buffer = BoundedBuffer<Element>(
            count: losingNothing ? .max : self.buffer, bytes: losingNothing ? .max : self.bytes)
        let listener = self.state.withLock { state in
            state.next += 1
            let key = state.next
            let listener = Listener(buffer: buffer) { [weak self] in
                _ = self?.state.withLock { $0.places.removeValue(forKey: key) }
            }
            if state.isFinished { listener.finish() } else { state.places[key] = Place(listener: listener) }
            return listener
        }
        return AsyncStream { await listener.next() }
    }

    /// Tells every listener.
    @inlinable
    public func tell(_ element: Element) {
        let listeners = self.state.withLock { $0.listeners }
        guard !listeners.isEmpty else { return }
        let bytes = self.size(element)
        let lost = listeners.reduce(0) { $0 + $1.tell(element, bytes: bytes) }
        if lost > 0 { self.state.withLock { $0.lost += lost } }
    }

    /// Returns once no listener that loses nothing is behind by more than another one's buffer, or the task is cancelled. One
    /// that was let go meanwhile is not waited for.
    public func caughtUp() async {
        while self.isSomebodyBehind, (try? await Task.sleep(for: .milliseconds(1))) != nil {}
    }

    private var isSomebodyBehind: Bool {
        self.state.withLock { $0.listeners }.contains { $0.isBehind(count: self.buffer, bytes: self.bytes) }
    }

    /// Nothing more will be told.
    public func finish() {
        let listeners = self.state.withLock { state in
            state.isFinished = true
            return state.listeners
        }
        for listener in listeners { listener.finish() }
    }
}

/// One stream's place in a broadcast; it goes when the stream does.
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
    @usableFromInline let onEnd: @Sendable () -> Void

    @inlinable
    init(buffer: BoundedBuffer<Element>, onEnd: @escaping @Sendable () -> Void) {
        self.state = Mutex(State(buffer: buffer))
        self.onEnd = onEnd
    }

    @inlinable
    deinit { self.onEnd() }

    /// - Returns: How many older ones were lost.
    @inlinable
    func tell(_ element: Element, bytes: Int) -> Int {
        let (waiter, lost) = self.state.withLock { state -> (CheckedContinuation<Element?, Never>?, Int) in
            guard !state.isFinished else { return (nil, 0) }
            if let waiter = state.waiter.take() { return (waiter, 0) }
            return (nil, state.buffer.append(element, bytes: bytes))
        }
        waiter?.resume(returning: element)
        return lost
    }

    /// Whether more waits than this.
    func isBehind(count: Int, bytes: Int) -> Bool {
        self.state.withLock { state in
            state.buffer.count > 1 && (state.buffer.count > count || state.buffer.bytes > bytes)
        }
    }

    /// What was told already is still handed over.
    @inlinable
    func finish() {
        let waiter = self.state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }

    /// The next element; `nil` at the end, or when the task is cancelled.
    @inlinable
    func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = self.state.withLock { state -> Element?? in
                    if let element = state.buffer.popFirst() { return .some(element) }
                    if state.isFinished || Task.isCancelled { return .some(nil) }
                    precondition(state.waiter == nil, "a stream is for one task")
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = self.state.withLock { $0.waiter.take() }
            waiter?.resume(returning: nil)
        }
    }
}
