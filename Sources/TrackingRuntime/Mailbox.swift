public import Synchronization
public import TrackingCore

/// A queue of events for one reader task, which gives them to a decider, the state machine of a component. Any task
/// posts events, and the reader takes them out in order.
///
/// The reader takes all waiting events at once, so a reader that is behind wakes only once for them. The type is
/// inlinable, so that it is specialised for the type of its events.
public final class Mailbox<Event: Sendable>: Sendable {
    /// An event in the mailbox. Its receipt, if there is one, wakes a task that waits until the event is handled.
    public struct Envelope: Sendable {
        /// The event that a task posted to the mailbox.
        public let event: Event
        /// The receipt that the mailbox's reader resumes once it has handled the event, to wake the task that posted
        /// it; `nil` if no task waits for that.
        public let receipt: Receipt?

        @inlinable
        init(event: Event, receipt: Receipt?) {
            self.event = event
            self.receipt = receipt
        }
    }

    @usableFromInline
    struct State: Sendable {
        @usableFromInline var envelopes: [Envelope] = []
        @usableFromInline var waiter: CheckedContinuation<[Envelope]?, Never>?
        @usableFromInline var isClosed = false

        @inlinable
        init() {}

        /// Appends events to the queue, unless the mailbox is closed.
        ///
        /// - Returns: `refused` is `true` if the mailbox is closed. `waiter` is the waiting reader, which the caller
        ///   resumes with the events in `taken`; `nil` if no reader waits.
        @inlinable
        mutating func add(
            _ added: some Collection<Envelope>
        ) -> (refused: Bool, waiter: CheckedContinuation<[Envelope]?, Never>?, taken: [Envelope]) {
            guard !self.isClosed else { return (true, nil, []) }
            self.envelopes.append(contentsOf: added)
            guard let waiter = self.waiter.take() else { return (false, nil, []) }
            return (false, waiter, self.takeAll())
        }

        @inlinable
        mutating func takeAll() -> [Envelope] {
            defer { self.envelopes = [] }
            return self.envelopes
        }
    }

    @usableFromInline let state = Mutex(State())

    /// Creates an empty mailbox.
    @inlinable
    public init() {}

    /// Posts an event to the mailbox and returns at once, without waiting for the reader.
    @inlinable
    public func post(_ event: Event) {
        self.put(CollectionOfOne(Envelope(event: event, receipt: nil)))
    }

    /// Posts an event to the mailbox and returns at once. The reader resumes `receipt`, and so the task that waits for
    /// it, once the event was handled. A closed mailbox resumes it at once.
    @inlinable
    public func post(_ event: Event, receipt: Receipt) {
        self.put(CollectionOfOne(Envelope(event: event, receipt: receipt)))
    }

    /// Posts an event and waits until the reader has handled it, so that a fast sender does not fill the memory. If the
    /// task is cancelled, the event is still posted, but the method does not wait.
    @inlinable
    public func postAndWait(_ event: Event) async {
        let receipt = Receipt()
        self.post(event, receipt: receipt)
        await receipt.wait()
    }

    /// Posts a batch of events, each converted by `event`, in parts of ``stride`` events. Waits after each part until
    /// the reader has handled it.
    ///
    /// The batch therefore does not fill the memory, and an event of another task waits behind at most one part.
    @inlinable
    public func postAndWait<Other>(_ others: [Other], as event: (Other) -> Event) async {
        var start = 0
        while start < others.count {
            let end = min(start + Self.stride, others.count)
            let receipt = Receipt()
            self.put(
                (start..<end).map { index in
                    Envelope(event: event(others[index]), receipt: index == end - 1 ? receipt : nil)
                })
            await receipt.wait()
            start = end
        }
    }

    /// The number of events in one part of a posted batch: 256. The sender waits after each part.
    @inlinable
    public static var stride: Int { 256 }

    /// Waits for events, and returns all that are in the queue, in order. Returns `nil` once the mailbox is closed and
    /// has no more events. A cancellation of the task closes the mailbox.
    @inlinable
    func takeAll() async -> [Envelope]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = self.state.withLock { state -> [Envelope]?? in
                    if !state.envelopes.isEmpty { return state.takeAll() }
                    if state.isClosed || Task.isCancelled { return .some(nil) }
                    precondition(state.waiter == nil, "a mailbox is for one task")
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                state.isClosed = true
                return state.waiter.take()
            }
            waiter?.resume(returning: nil)
        }
    }

    /// Closes the mailbox. Later events are ignored, and events that wait are dropped. All waiting senders and the
    /// waiting reader resume.
    public func close() {
        let (left, waiter) = self.state.withLock { state in
            state.isClosed = true
            return (state.takeAll(), state.waiter.take())
        }
        for envelope in left { envelope.receipt?.resume() }
        waiter?.resume(returning: nil)
    }

    @inlinable
    func put(_ envelopes: some Collection<Envelope>) {
        let (refused, waiter, taken) = self.state.withLock { state in state.add(envelopes) }
        if refused { for envelope in envelopes { envelope.receipt?.resume() } }
        waiter?.resume(returning: taken)
    }
}

/// A signal from the reader of a mailbox to one waiting task: the reader has handled the task's event.
public final class Receipt: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Void, Never>)
        case given
    }

    private let state = Mutex(State.open)

    /// Creates a receipt of an event. The mailbox's reader has not handled the event yet.
    public init() {}

    /// Resumes the task that waits for the receipt, or lets a later wait return at once. Only the first call has an
    /// effect.
    public func resume() {
        let before = self.state.withLock { state in
            defer { state = .given }
            return state
        }
        if case .awaited(let waiter) = before { waiter.resume() }
    }

    /// Waits until ``resume()`` is called, or the task is cancelled. Call this method from one task only.
    public func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isGiven = self.state.withLock { state in
                    if case .given = state { return true }
                    state = .awaited(waiter)
                    return false
                }
                if isGiven { waiter.resume() }
            }
        } onCancel: {
            self.resume()
        }
    }
}

/// The reading end of a mailbox: one task takes the events out of the mailbox with it, one by one.
public struct Inbox<Event: Sendable>: ~Copyable {
    @usableFromInline let mailbox: Mailbox<Event>
    @usableFromInline var taken: ArraySlice<Mailbox<Event>.Envelope> = []

    /// Creates the reading end of a mailbox.
    @inlinable
    public init(_ mailbox: Mailbox<Event>) { self.mailbox = mailbox }

    /// Returns the next event; `nil` once the mailbox is closed and empty. After every ``Mailbox/stride`` events that
    /// were taken together, it lets other tasks run first.
    @inlinable
    public mutating func next() async -> Mailbox<Event>.Envelope? {
        if self.taken.isEmpty {
            guard let envelopes = await self.mailbox.takeAll() else { return nil }
            self.taken = envelopes[...]
        } else if self.taken.startIndex % Mailbox<Event>.stride == 0 {
            await Task.yield()
        }
        return self.taken.popFirst()
    }

    /// Closes the mailbox. Later events are ignored, and all tasks that wait until their event is handled resume.
    @inlinable
    public consuming func close() {
        self.mailbox.close()
        for envelope in self.taken { envelope.receipt?.resume() }
    }
}

/// The schedule of the next deadline of a decider, a state machine that must be called again at certain times. Call
/// ``arm(_:now:)`` after each step of the decider. Start a task that sleeps until the deadline that the call returns.
public struct Alarm: Sendable {
    private var armed: MonotonicTime?

    /// Creates an alarm without a deadline. An alarm wakes a decider at its next deadline.
    public init() {}

    /// Sets the next deadline of the decider, the state machine for which the alarm schedules the calls.
    ///
    /// - Returns: The deadline until which a new task must sleep; `nil` if there is no deadline, or a task that sleeps
    ///   already wakes early enough.
    public mutating func arm(_ deadline: MonotonicTime?, now: MonotonicTime) -> MonotonicTime? {
        if let armed = self.armed, armed <= now { self.armed = nil }
        guard let deadline, self.armed.map({ deadline < $0 }) ?? true else { return nil }
        self.armed = deadline
        return deadline
    }
}
