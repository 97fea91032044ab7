import TrackingCore

/// The webhook messages in memory that were not written to the outbox yet. Their number and their bytes are limited.
struct PendingMessages: Sendable {
    /// The number of webhook messages in memory at which further received messages are dropped, and at which no page of
    /// missed messages from the history is added.
    static let maximumCount = 10_000
    /// The number of payload bytes of the webhook messages in memory, 64 MiB, that must not be exceeded. A received
    /// message beyond it is dropped. A page of the history is read only if it certainly fits.
    static let maximumBytes = 67_108_864
    /// The number of webhook messages in memory from which on the gateway pauses reading missed messages from the
    /// history.
    static let sufficientCount = 1000

    /// The largest number of webhook messages that one page of the history yields when the gateway reads the history
    /// for missed messages.
    static let pageCount = 500
    /// The largest number of payload bytes of the messages of one page of the history.
    static let pageBytes = Self.pageCount * WireLimits.maximumPayloadBytes

    private(set) var drafts: [Outbox.Draft] = []
    private(set) var bytes = 0
    /// The number of webhook messages that were dropped since the last call of ``takeLost()``.
    private(set) var lost = 0

    /// `true` while another page of the history is to be read: there is room in memory for its messages, and too few
    /// messages wait already.
    var wantsPage: Bool { self.drafts.count < Self.sufficientCount && self.hasRoomForPage }

    /// `true` while there is room in memory for the messages of a page of the history.
    var hasRoomForPage: Bool {
        self.drafts.count + Self.pageCount <= Self.maximumCount
            && self.bytes + Self.pageBytes <= Self.maximumBytes
    }

    /// Returns `true` when there is room in memory for a payload of this number of bytes. Otherwise counts the message
    /// as lost.
    mutating func reserve(_ bytes: Int) -> Bool {
        if self.drafts.count < Self.maximumCount, self.bytes + bytes <= Self.maximumBytes { return true }
        self.lost += 1
        return false
    }

    /// Adds a webhook message to those in memory.
    mutating func append(_ draft: Outbox.Draft) {
        self.bytes += draft.payload.utf8.count
        self.drafts.append(draft)
    }

    /// Removes the webhook messages of a trackable from memory.
    mutating func remove(_ id: TrackableID) {
        self.drafts.removeAll { $0.trackable == id }
        self.bytes = self.drafts.reduce(0) { $0 + $1.payload.utf8.count }
    }

    /// Removes and returns all webhook messages in memory.
    mutating func takeAll() -> [Outbox.Draft] {
        defer { (self.drafts, self.bytes) = ([], 0) }
        return self.drafts
    }

    /// Returns the number of webhook messages that were dropped since the last call.
    mutating func takeLost() -> Int {
        defer { self.lost = 0 }
        return self.lost
    }
}
