import NIOCore
import TrackingCore

/// What waits for one stream that does not keep up: in order, and bounded. Beyond ``few`` only the newest of each kind of a
/// trackable waits, with everything that happened; beyond ``maximum`` or ``maximumBytes`` even so, the stream is given up.
package struct LiveQueue: Sendable {
    private struct Key: Hashable {
        let trackable: TrackableID
        let kind: LiveUpdate.Kind
    }

    /// So many wait as they are.
    package static let few = 1_024
    /// More do not wait.
    package static let maximum = 65_536

    /// So many bytes wait as they are.
    package static let fewBytes = 8_388_608
    /// More bytes do not wait: 32 MB.
    package static let maximumBytes = 33_554_432

    private var waiting: [LiveUpdate] = []
    /// The number of bytes that wait.
    package private(set) var bytes = 0
    /// When it is looked through the next time; it doubles with what is left, so that each update costs a constant share.
    private var limit = LiveQueue.few
    /// The same for the number of bytes.
    private var byteLimit = LiveQueue.fewBytes

    /// Makes an empty queue.
    package init() {}

    /// How many wait.
    package var count: Int { self.waiting.count }

    /// Adds one.
    ///
    /// - Returns: Whether there was room.
    package mutating func append(_ update: LiveUpdate) -> Bool {
        self.waiting.append(update)
        self.bytes += Self.size(of: update)
        guard self.waiting.count > self.limit || self.bytes > self.byteLimit else { return true }
        self.thin()
        self.limit = max(Self.few, self.waiting.count * 2)
        self.byteLimit = min(max(Self.fewBytes, self.bytes * 2), Self.maximumBytes)
        return self.waiting.count <= Self.maximum && self.bytes <= Self.maximumBytes
    }

    /// The bytes that an update holds, about.
    private static func size(of update: LiveUpdate) -> Int {
        update.frame.readableBytes + (update.location?.extra?.count ?? 0)
    }

    /// Takes everything out, in order.
    package mutating func takeAll() -> [LiveUpdate] {
        defer {
            self = LiveQueue()
        }
        return self.waiting
    }

    /// Late positions go, and of the rest what a newer one replaces.
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
            // What was told before it is to be forgotten, whatever came behind it.
            if isFirst || (update.kind == .position && update.location == nil) { kept.append(update) }
        }
        self.waiting = kept.reversed()
        self.bytes = self.waiting.reduce(0) { $0 + Self.size(of: $1) }
    }
}
