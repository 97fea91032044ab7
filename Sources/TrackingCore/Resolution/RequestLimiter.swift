/// Limits the rate at which a subscriber's resolution requests for one trackable take effect. A sender may make
/// ``burst`` requests at once, and five a second in the long run.
///
/// A request above the limit waits. A newer request of the same sender replaces the waiting one. Waiting requests are
/// stored undecoded, so that a flood of requests costs no decoding.
public struct RequestLimiter: Sendable {
    /// The sender of resolution requests: one client for one trackable.
    public struct Sender: Hashable, Sendable {
        /// The trackable whose resolution is requested.
        public let trackable: TrackableID
        /// The client that requests a resolution for the trackable.
        public let client: ClientID

        /// Makes a sender from a client and the trackable for which it requests resolutions.
        public init(trackable: TrackableID, client: ClientID) {
            self.trackable = trackable
            self.client = client
        }
    }

    /// A resolution request that had to wait because its sender exceeded the rate limit.
    public struct Waiting: Hashable, Sendable {
        /// The client that sent the request, and the trackable of the request.
        public let sender: Sender
        /// The payload of the request message, not decoded yet; empty when the client withdraws its request.
        public let payload: [UInt8]
    }

    private struct Entry: Sendable {
        /// The time from which the sender may again make ``RequestLimiter/burst`` requests at once, if it makes none
        /// before.
        var restored: MonotonicTime
        var held: [UInt8]?
    }

    /// The number of resolution requests that one sender may make at once before further requests must wait: 5.
    public static let burst = 5
    /// The time that the rate limit requires for each resolution request of one sender in the long run: 200 ms, which
    /// is five requests a second.
    static let interval: Duration = .milliseconds(200)
    /// The largest payload of a resolution request, in bytes: 1,024.
    public static let maximumBytes = 1024

    private let capacity: Int
    private var entries: [Sender: Entry] = [:]
    /// The senders that have a resolution request above the rate limit, each with the time at which this request takes
    /// effect.
    private var waiting = DeadlineQueue<Sender>()
    /// The senders of which no resolution request waits, each with the time from which it may again make ``burst``
    /// requests at once. After that time, the limiter forgets the sender.
    private var resting = DeadlineQueue<Sender>()

    /// Makes a rate limiter for resolution requests.
    ///
    /// - Parameter capacity: The maximum number of senders to remember, > 0. A sender is remembered for about a second
    ///   after its last request. While that many are remembered, the requests of other senders are not limited.
    public init(capacity: Int = 20_000) {
        self.capacity = capacity
    }

    /// The number of senders (one client for one trackable each) whose earlier resolution requests the rate limiter
    /// remembers.
    public var count: Int { self.entries.count }

    /// The time at which the next resolution request that waits may take effect. The caller calls ``takeDue(now:)``
    /// then. `nil` when no request waits.
    public var nextDeadline: MonotonicTime? { self.waiting.next }

    /// Decides whether a resolution request that has arrived takes effect now or waits.
    ///
    /// - Parameters:
    ///   - payload: The payload of the message, at most ``maximumBytes``; empty when the client withdraws its request.
    ///   - sender: The client and the trackable of the request.
    ///   - now: The time on the monotonic clock.
    /// - Returns: `true` when the request takes effect now. `false` when it waits: ``takeDue(now:)`` returns the
    ///   request later, unless a newer one of the same sender replaces it.
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

    /// Removes and returns the resolution requests that have waited long enough to comply with the rate limit. They
    /// take effect now.
    public mutating func takeDue(now: MonotonicTime) -> [Waiting] {
        self.waiting.popExpired(now: now).compactMap { sender in
            guard let entry = self.entries[sender], let payload = entry.held else { return nil }
            self.spend(sender, from: max(entry.restored, now))
            return Waiting(sender: sender, payload: payload)
        }
    }

    /// Forgets all clients that sent resolution requests for `trackable`, and discards their waiting requests.
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
