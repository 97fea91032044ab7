import NIOCore
import TrackingCore

/// The updates that wait for the slow client of one live stream, in order and bounded. Beyond ``few`` updates, the
/// queue contains only the newest update of each replaceable kind for each trackable, and every event. Beyond
/// ``maximum`` updates or ``maximumBytes`` bytes, the stream ends.
package struct LiveQueue: Sendable {
    private struct Key: Hashable {
        let trackable: TrackableID
        let kind: LiveUpdate.Kind
    }

    /// The number of updates that wait before replaced updates are removed.
    package static let few = 1_024
    /// The largest number of waiting updates.
    package static let maximum = 65_536

    /// The number of bytes that wait before replaced updates are removed.
    package static let fewBytes = 8_388_608
    /// The largest number of waiting bytes: 32 MiB.
    package static let maximumBytes = 33_554_432

    private var waiting: [LiveUpdate] = []
    /// The approximate number of bytes of the waiting updates.
    package private(set) var bytes = 0
    /// The number of waiting updates above which replaced updates are removed next. It is twice the number that
    /// remained the last time, so that the cost of each update stays low.
    private var limit = LiveQueue.few
    /// The number of waiting bytes above which replaced updates are removed next.
    private var byteLimit = LiveQueue.fewBytes

    /// Creates an empty queue for a live stream.
    package init() {}

    /// The number of waiting updates.
    package var count: Int { self.waiting.count }

    /// Appends an update, and removes replaced updates if the queue is long.
    ///
    /// - Returns: `false` if the queue exceeds its limits even so.
    package mutating func append(_ update: LiveUpdate) -> Bool {
        self.waiting.append(update)
        self.bytes += Self.size(of: update)
        guard self.waiting.count > self.limit || self.bytes > self.byteLimit else { return true }
        self.thin()
        self.limit = max(Self.few, self.waiting.count * 2)
        self.byteLimit = min(max(Self.fewBytes, self.bytes * 2), Self.maximumBytes)
        return self.waiting.count <= Self.maximum && self.bytes <= Self.maximumBytes
    }

    /// Returns the approximate number of bytes of an update.
    private static func size(of update: LiveUpdate) -> Int {
        update.frame.readableBytes + (update.location?.extra?.count ?? 0)
    }

    /// Removes and returns all waiting updates, in order.
    package mutating func takeAll() -> [LiveUpdate] {
        defer {
            self = LiveQueue()
        }
        return self.waiting
    }

    /// Removes the waiting positions that are late, and the updates that a newer one replaces.
    private mutating func thin() {
        var seen: Set<Key> = []
        var kept: [LiveUpdate] = []
        for update in self.waiting.reversed() where update.kind != .position || !update.isLate {
            guard update.kind.isReplaced, !update.isLate else {
                kept.append(update)
                continue
            }
            let key = Key(trackable: update.trackable, kind: update.kind)
            let isFirst = seen.insert(key).inserted
            // Readers discard earlier positions at a clearing, so each clearing stays.
            if isFirst || (update.kind == .position && update.location == nil) { kept.append(update) }
        }
        self.waiting = kept.reversed()
        self.bytes = self.waiting.reduce(0) { $0 + Self.size(of: $1) }
    }
}
