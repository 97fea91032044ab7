import TrackingCore

/// The messages for webhooks that wait in memory to be written to the outbox, bounded by count and by bytes.
struct PendingMessages: Sendable {
    /// The most messages that wait.
    static let maximumCount = 10_000
    /// The most bytes of their payloads: 64 MB.
    static let maximumBytes = 67_108_864
    /// The number of waiting messages at which no further page is read from the history.
    static let sufficientCount = 1000

    private(set) var drafts: [Outbox.Draft] = []
    private(set) var bytes = 0
    /// The messages that were dropped since the last call of ``takeLost()``.
    private(set) var lost = 0

    /// `true` while a page of the history can be added.
    var hasRoomForPage: Bool { self.drafts.count < Self.sufficientCount }

    /// Returns `true` when there is room for a payload; otherwise counts the message as lost.
    mutating func reserve(_ bytes: Int) -> Bool {
        if self.drafts.count < Self.maximumCount, self.bytes + bytes <= Self.maximumBytes { return true }
        self.lost += 1
        return false
    }

    /// Adds a message.
    mutating func append(_ draft: Outbox.Draft) {
        self.bytes += draft.payload.utf8.count
        self.drafts.append(draft)
    }

    /// Removes the messages of a trackable.
    mutating func remove(_ id: TrackableID) {
        self.drafts.removeAll { $0.trackable == id }
        self.bytes = self.drafts.reduce(0) { $0 + $1.payload.utf8.count }
    }

    /// Returns all messages, and removes them.
    mutating func takeAll() -> [Outbox.Draft] {
        defer { (self.drafts, self.bytes) = ([], 0) }
        return self.drafts
    }

    /// Returns the number of dropped messages since the last call.
    mutating func takeLost() -> Int {
        defer { self.lost = 0 }
        return self.lost
    }
}
