import TrackingCore
import TrackingRuntime
import TrackingSubscriber

/// Holds back the first events of `godwit watch` until the messages that the broker retains have arrived.
///
/// Before these messages arrive, each trackable seems to be offline and without a publisher. Such a first state is
/// shown only if no later state replaces it. The held events are then released in their order.
struct WatchStart {
    /// The longest time for which the first events of `godwit watch` are held back: 1 s. The time begins with the first
    /// held event, and begins again when the connection to the broker is made.
    static let limit = Duration.seconds(1)
    /// The largest number of events that `godwit watch` holds back at its start. When so many are held, all of them are
    /// shown.
    static let maximumHeld = 10_000

    /// The trackables that the user of `godwit watch` named and that have not been online yet. Once the set is empty,
    /// the events held back at the start are shown. When all trackables are watched, the set is empty from the start
    /// and has no such effect.
    private var awaited: Set<TrackableID>
    private let isForAll: Bool
    private var held: [SubscriberEvent] = []
    private var hasEnded = false
    /// The time at which the first events of `godwit watch`, which are held back, must be shown: ``timerFired(now:)``
    /// must be called then. `nil` while no event is held back.
    private(set) var deadline: MonotonicTime?

    /// Creates the state in which the first events of `godwit watch` are held back. No event is held yet.
    ///
    /// - Parameter named: The ids of the trackables to watch. An empty set means all trackables.
    init(named: Set<TrackableID>) {
        self.awaited = named
        self.isForAll = named.isEmpty
    }

    /// Handles an event of the subscriber of `godwit watch`.
    ///
    /// Holds events back until the broker's retained messages have arrived, at most until ``deadline`` or until
    /// ``maximumHeld`` events are held. Afterwards, returns each event at once. Positions that arrive before any other
    /// event come from the history (`--since`), and are returned at once.
    ///
    /// - Returns: The events to show now, in order: none, this event, or the held events without the first states that
    ///   a later one replaced.
    mutating func happened(_ event: SubscriberEvent, now: MonotonicTime) -> [SubscriberEvent] {
        // Recorded positions (--since) come before everything that is live.
        if !self.hasEnded, self.held.isEmpty, case .location = event { return [event] }
        guard !self.hasEnded else { return [event] }
        self.held.append(event)
        switch event {
        case .connection(nil):
            self.deadline = now.advanced(by: Self.limit)
        case .connection, .refused, .silent, .positionsKept:
            return self.release()
        case .state(let id, .online, _):
            self.awaited.remove(id)
            if self.awaited.isEmpty, !self.isForAll { return self.release() }
        default:
            break
        }
        if self.deadline == nil { self.deadline = now.advanced(by: Self.limit) }
        return self.held.count < Self.maximumHeld ? [] : self.release()
    }

    /// Ends the holding back of the first events if ``deadline`` has passed at the time `now`; otherwise does nothing.
    ///
    /// - Returns: The events to show now, in order.
    mutating func timerFired(now: MonotonicTime) -> [SubscriberEvent] {
        guard let deadline = self.deadline, deadline <= now else { return [] }
        return self.release()
    }

    /// Ends the holding back of the first events, and returns the held ones. From then on, every event is shown at
    /// once.
    ///
    /// - Returns: The held events, in order, without the first states that a later one replaced.
    mutating func release() -> [SubscriberEvent] {
        (self.hasEnded, self.deadline) = (true, nil)
        let events = self.held
        self.held = []
        var replaced: Set<Fact> = []
        return events.reversed().filter { event in
            guard let fact = Fact(event) else { return true }
            let isLast = replaced.insert(fact).inserted
            return isLast || !event.isFirstState
        }.reversed()
    }

    /// The subject of an event: the state of a trackable, or the presence of its publisher. A later event about the
    /// same subject replaces a first state.
    private enum Fact: Hashable {
        case state(TrackableID)
        case presence(TrackableID)

        init?(_ event: SubscriberEvent) {
            switch event {
            case .state(let id, _, _): self = .state(id)
            case .presence(let id, _): self = .presence(id)
            default: return nil
            }
        }
    }
}

extension SubscriberEvent {
    /// `true` for an event that shows a trackable as it seems before the broker's retained messages arrive: offline, or
    /// without a present publisher.
    fileprivate var isFirstState: Bool {
        switch self {
        case .state(_, let state, _): state == .offline
        case .presence(_, let presence): presence.status != .present
        default: false
        }
    }
}

extension WatchStart {
    private enum Input: Sendable {
        case event(SubscriberEvent)
        case timer
        case end((any Error)?)
    }

    /// Holds back the first events of a subscriber, and then shows all its events in order.
    ///
    /// - Parameters:
    ///   - events: The events of the subscriber.
    ///   - show: Shows an event. Returns `false` to end.
    /// - Throws: The errors of `events` and `show`.
    consuming func show<Events: AsyncSequence & Sendable>(
        _ events: Events, _ show: (SubscriberEvent) async throws -> Bool
    ) async throws where Events.Element == SubscriberEvent {
        var start = self
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            let mailbox = Mailbox<Input>()
            group.addTask {
                do {
                    for try await event in events { await mailbox.postAndWait(.event(event)) }
                    mailbox.post(.end(nil))
                } catch {
                    mailbox.post(.end(error))
                }
            }
            var inbox = Inbox(mailbox)
            var alarm = Alarm()
            while let envelope = await inbox.next() {
                let now = DeviceClock.now
                let shown: [SubscriberEvent]
                switch envelope.event {
                case .event(let event): shown = start.happened(event, now: now)
                case .timer: shown = start.timerFired(now: now)
                case .end: shown = start.release()
                }
                for event in shown { guard try await show(event) else { return } }
                envelope.receipt?.resume()
                if case .end(let error) = envelope.event {
                    if let error { throw error }
                    return
                }
                if let deadline = alarm.arm(start.deadline, now: now) {
                    group.addTask {
                        try? await Task.sleep(for: DeviceClock.now.duration(to: deadline))
                        mailbox.post(.timer)
                    }
                }
            }
        }
    }
}
