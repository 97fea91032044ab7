/// Limits the rate at which a client's resolution requests for one trackable take effect: ``burst`` at once and five a
/// second in the long run.
///
/// Above the limit, only the latest request waits; it replaces the previous waiting request. A waiting request remains
/// encoded, so that a request above the limit costs no decoding.
public struct RequestLimiter: Sendable {
    /// The sender of requests for one trackable.
    public struct Sender: Hashable, Sendable {
        /// The trackable whose resolution is requested.
        public let trackable: TrackableID
        /// The client that requests it.
        public let client: ClientID

        /// Makes the sender `client` of requests for `trackable`.
        public init(trackable: TrackableID, client: ClientID) {
            self.trackable = trackable
            self.client = client
        }
    }

    /// A waiting request.
    public struct Waiting: Hashable, Sendable {
        /// The sender.
        public let sender: Sender
        /// The payload of the message; empty when the client withdraws its request.
        public let payload: [UInt8]
    }

    private struct Entry: Sendable {
        /// The time at which the sender's full burst is available again.
        var restored: MonotonicTime
        var held: [UInt8]?
    }

    /// The number of requests that take effect at once.
    public static let burst = 5
    /// The time after which one more request becomes available: 200 ms, or five requests a second.
    static let interval: Duration = .milliseconds(200)
    /// The largest payload of a request, in bytes.
    public static let maximumBytes = 1024

    private let capacity: Int
    private var entries: [Sender: Entry] = [:]
    /// The senders of waiting requests, with the time at which each takes effect.
    private var waiting = DeadlineQueue<Sender>()
    /// The senders without a waiting request. Each is forgotten at the given time, when its full burst is available
    /// again.
    private var resting = DeadlineQueue<Sender>()

    /// Makes a limiter.
    ///
    /// - Parameter capacity: The maximum number of remembered senders, > 0. Each is remembered for about a second after
    ///   its last request. While the limiter is full, requests of further senders are not limited.
    public init(capacity: Int = 20_000) {
        self.capacity = capacity
    }

    /// The number of senders that are remembered.
    public var count: Int { self.entries.count }

    /// The time at which the next waiting request takes effect; `nil` when no request waits.
    public var nextDeadline: MonotonicTime? { self.waiting.next }

    /// Decides about a request that has arrived.
    ///
    /// - Parameters:
    ///   - payload: The payload of the message, at most ``maximumBytes``; empty when the client withdraws its request.
    ///   - sender: The client and the trackable of the request.
    ///   - now: The time on the monotonic clock.
    /// - Returns: `true` when the request takes effect now. `false` when it waits; ``takeDue(now:)`` returns it later
    ///   unless another one replaces it.
    public mutating func received(
        _ payload: some Collection<UInt8>, from sender: Sender, now: MonotonicTime
    ) -> Bool {
        if self.entries[sender]?.held != nil {
            self.entries[sender]?.held = Array(payload)
            return false
        }
        for rested in self.resting.popExpired(now: now) { self.entries[rested] = nil }
        let restored = max(self.entries[sender]?.restored ?? now, now)
        let available = restored.advanced(by: Self.interval * (1 - Self.burst))
        guard available <= now else {
            self.entries[sender]?.held = Array(payload)
            self.resting.remove(sender)
            self.waiting.set(sender, deadline: available)
            return false
        }
        if self.entries[sender] != nil || self.entries.count < self.capacity { self.spend(sender, from: restored) }
        return true
    }

    /// Removes and returns the waiting requests that take effect now.
    public mutating func takeDue(now: MonotonicTime) -> [Waiting] {
        self.waiting.popExpired(now: now).compactMap { sender in
            guard let entry = self.entries[sender], let payload = entry.held else { return nil }
            self.spend(sender, from: max(entry.restored, now))
            return Waiting(sender: sender, payload: payload)
        }
    }

    /// Forgets all senders of requests for `trackable`, and drops their waiting requests.
    public mutating func forget(_ trackable: TrackableID) {
        for sender in self.entries.keys where sender.trackable == trackable {
            self.entries[sender] = nil
            self.waiting.remove(sender)
            self.resting.remove(sender)
        }
    }

    private mutating func spend(_ sender: Sender, from restored: MonotonicTime) {
        let next = restored.advanced(by: Self.interval)
        self.entries[sender] = Entry(restored: next)
        self.resting.set(sender, deadline: next)
    }
}
