public import Synchronization
public import TrackingCore

/// The one way into a decider's task: whoever has something to tell posts it, one task takes it out in order.
///
/// What waits is taken out as a whole, so that a decider that is behind is woken once for all of it. Inlinable, so that it is
/// compiled for the events of its users.
public final class Mailbox<Event: Sendable>: Sendable {
    /// An event, and who waits until it has been dealt with.
    public struct Envelope: Sendable {
        /// What happened.
        public let event: Event
        /// Whom to tell that it was dealt with.
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

        /// Whether they were refused, and who is to be handed what, if anybody waits for it.
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

    /// Makes an empty one.
    @inlinable
    public init() {}

    /// Tells the decider; returns at once.
    @inlinable
    public func post(_ event: Event) {
        self.put(CollectionOfOne(Envelope(event: event, receipt: nil)))
    }

    /// Tells the decider; who waits for `receipt` is let go when it says so.
    @inlinable
    public func post(_ event: Event, receipt: Receipt) {
        self.put(CollectionOfOne(Envelope(event: event, receipt: receipt)))
    }

    /// Tells the decider and returns when it says so: what keeps a fast teller from filling memory. When the task is cancelled it
    /// is told all the same, and not waited for.
    @inlinable
    public func postAndWait(_ event: Event) async {
        let receipt = Receipt()
        self.post(event, receipt: receipt)
        await receipt.wait()
    }

    /// Tells the decider a batch, and waits for it now and then and at the end: a fast teller fills no memory, and what others
    /// post meanwhile waits behind ``stride`` events at most.
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

    /// How many events of a batch are posted without waiting.
    @inlinable
    public static var stride: Int { 256 }

    /// Everything that waits, in order, once there is something; `nil` once closed, or when the task is cancelled, which closes
    /// it for what is posted from then on.
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

    /// Nothing is taken in any more; whoever waits is let go.
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

/// Says that an event was dealt with, to the one who waits for that.
public final class Receipt: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Void, Never>)
        case given
    }

    private let state = Mutex(State.open)

    /// Makes one that was not given yet.
    public init() {}

    /// Whoever waits goes on; the first time counts.
    public func resume() {
        let before = self.state.withLock { state in
            defer { state = .given }
            return state
        }
        if case .awaited(let waiter) = before { waiter.resume() }
    }

    /// Returns once it was given, or when the task is cancelled. For one who waits.
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

/// The place of a decider at its mailbox.
public struct Inbox<Event: Sendable>: ~Copyable {
    @usableFromInline let mailbox: Mailbox<Event>
    @usableFromInline var taken: ArraySlice<Mailbox<Event>.Envelope> = []

    /// Begins to take out.
    @inlinable
    public init(_ mailbox: Mailbox<Event>) { self.mailbox = mailbox }

    /// The next event; `nil` once the mailbox is closed and empty. After ``Mailbox/stride`` events of one batch others on the
    /// thread have their turn.
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

    /// Nothing is taken in any more; whoever waits is let go.
    @inlinable
    public consuming func close() {
        self.mailbox.close()
        for envelope in self.taken { envelope.receipt?.resume() }
    }
}

/// Posts one event at each deadline of a decider: re-armed after each step, it keeps at most one task asleep a deadline.
public struct Alarm: Sendable {
    private var armed: MonotonicTime?

    /// Nothing is armed yet.
    public init() {}

    /// Returns the deadline to sleep for, when there is none asleep that comes early enough.
    public mutating func arm(_ deadline: MonotonicTime?, now: MonotonicTime) -> MonotonicTime? {
        if let armed = self.armed, armed <= now { self.armed = nil }
        guard let deadline, self.armed.map({ deadline < $0 }) ?? true else { return nil }
        self.armed = deadline
        return deadline
    }
}
