import NIOCore
import TrackingCore

/// The bounded queue of one stream whose reader is slow, in order. Beyond ``few`` updates, the queue keeps only the
/// newest of each replaceable kind per trackable, and every event. Beyond ``maximum`` or ``maximumBytes``, the stream
/// ends.
package struct LiveQueue: Sendable {
    private struct Key: Hashable {
        let trackable: TrackableID
        let kind: LiveUpdate.Kind
    }

    /// The number of updates that are queued without thinning.
    package static let few = 1_024
    /// The most queued updates.
    package static let maximum = 65_536

    /// The number of bytes that are queued without thinning.
    package static let fewBytes = 8_388_608
    /// The most queued bytes: 32 MB.
    package static let maximumBytes = 33_554_432

    private var waiting: [LiveUpdate] = []
    /// The number of queued bytes.
    package private(set) var bytes = 0
    /// The count that starts the next thinning. It is twice the remaining count, so that the cost per update is
    /// constant.
    private var limit = LiveQueue.few
    /// The same for the number of bytes.
    private var byteLimit = LiveQueue.fewBytes

    /// Makes an empty queue.
    package init() {}

    /// The number of queued updates.
    package var count: Int { self.waiting.count }

    /// Appends an update.
    ///
    /// - Returns: `false` if the queue is over its limits.
    package mutating func append(_ update: LiveUpdate) -> Bool {
        self.waiting.append(update)
        self.bytes += Self.size(of: update)
        guard self.waiting.count > self.limit || self.bytes > self.byteLimit else { return true }
        self.thin()
        self.limit = max(Self.few, self.waiting.count * 2)
        self.byteLimit = min(max(Self.fewBytes, self.bytes * 2), Self.maximumBytes)
        return self.waiting.count <= Self.maximum && self.bytes <= Self.maximumBytes
    }

    /// Returns the approximate size of an update in bytes.
    private static func size(of update: LiveUpdate) -> Int {
        update.frame.readableBytes + (update.location?.extra?.count ?? 0)
    }

    /// Removes and returns all updates, in order.
    package mutating func takeAll() -> [LiveUpdate] {
        defer {
            self = LiveQueue()
        }
        return self.waiting
    }

    /// Removes late positions, and updates that a newer one replaces.
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
