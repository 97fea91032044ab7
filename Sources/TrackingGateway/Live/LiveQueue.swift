import TrackingCore

/// What waits for one stream that does not keep up: in order, and bounded. Beyond ``few`` only the newest of each kind of a
/// trackable waits, with everything that happened; beyond ``maximum`` even so, the stream is given up.
package struct LiveQueue: Sendable {
    private struct Key: Hashable {
        let trackable: TrackableID
        let kind: LiveUpdate.Kind
    }

    /// So many wait as they are.
    package static let few = 1_024
    /// More do not wait.
    package static let maximum = 65_536

    private var waiting: [LiveUpdate] = []
    /// When it is looked through the next time; it doubles with what is left, so that each update costs a constant share.
    private var limit = LiveQueue.few

    /// Makes an empty queue.
    package init() {}

    /// How many wait.
    package var count: Int { self.waiting.count }

    /// Adds one.
    ///
    /// - Returns: Whether there was room.
    package mutating func append(_ update: LiveUpdate) -> Bool {
        self.waiting.append(update)
        guard self.waiting.count > self.limit else { return true }
        self.thin()
        self.limit = max(Self.few, self.waiting.count * 2)
        return self.waiting.count <= Self.maximum
    }

    /// Takes everything out, in order.
    package mutating func takeAll() -> [LiveUpdate] {
        defer {
            self.waiting = []
            self.limit = Self.few
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
    }
}
