import NIOCore
import TrackingCore

/// The updates that wait to be written to the client of one live stream, in order.
///
/// The queue is bounded for slow clients. When it is long, it removes outdated updates: late positions, and each update
/// for which a newer one of the same kind and the same trackable waits. Tracking events, late trips and updates that
/// clear a position are never outdated. If more than ``maximum`` updates or ``maximumBytes`` bytes remain, the stream
/// ends.
package struct LiveQueue: Sendable {
    private struct Key: Hashable {
        let trackable: TrackableID
        let kind: LiveUpdate.Kind
    }

    /// The number of updates for the client of a live stream above which the queue removes outdated updates for the
    /// first time: 1,024.
    package static let few = 1_024
    /// The largest number of updates that may remain in the queue of a live stream after outdated updates were removed:
    /// 65,536. The stream ends when more remain.
    package static let maximum = 65_536

    /// The number of bytes for the client of a live stream above which the queue removes outdated updates for the first
    /// time: 8 MiB.
    package static let fewBytes = 8_388_608
    /// The largest number of bytes that may remain in the queue of a live stream after outdated updates were removed:
    /// 32 MiB. The stream ends when more remain.
    package static let maximumBytes = 33_554_432

    private var waiting: [LiveUpdate] = []
    /// The approximate number of bytes of the updates that wait to be written to the client of the live stream.
    package private(set) var bytes = 0
    /// The number of waiting updates above which the queue of a live stream next removes outdated updates. After each
    /// removal, this limit becomes twice the number of updates that remained, but at least ``few`` and at most
    /// ``maximum``. So removals are rare, and their cost per update stays low.
    private var limit = LiveQueue.few
    /// The number of waiting bytes above which the queue of a live stream next removes outdated updates. After each
    /// removal, this limit becomes twice the number of bytes that remained, but at least ``fewBytes`` and at most
    /// ``maximumBytes``.
    private var byteLimit = LiveQueue.fewBytes

    /// Creates an empty queue for a live stream.
    package init() {}

    /// The number of updates that wait to be written to the client of the live stream.
    package var count: Int { self.waiting.count }

    /// Appends an update to the queue. If the queue is then too long, removes its outdated updates.
    ///
    /// - Returns: `false` if the queue still exceeds the largest number of updates or bytes after the removal.
    package mutating func append(_ update: LiveUpdate) -> Bool {
        self.waiting.append(update)
        self.bytes += Self.size(of: update)
        guard self.waiting.count > self.limit || self.bytes > self.byteLimit else { return true }
        self.thin()
        self.limit = min(max(Self.few, self.waiting.count * 2), Self.maximum)
        self.byteLimit = min(max(Self.fewBytes, self.bytes * 2), Self.maximumBytes)
        return self.waiting.count <= Self.maximum && self.bytes <= Self.maximumBytes
    }

    /// Returns the approximate number of bytes that a waiting update occupies in memory.
    private static func size(of update: LiveUpdate) -> Int {
        update.frame.readableBytes + (update.location?.extra?.count ?? 0)
    }

    /// Removes and returns all updates that wait to be written to the client of the live stream, in order.
    package mutating func takeAll() -> [LiveUpdate] {
        defer {
            self = LiveQueue()
        }
        return self.waiting
    }

    /// Removes outdated updates: those for which a newer update of the same kind and trackable waits, and late
    /// positions. Keeps tracking events, late trips, and each update that clears a position.
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
