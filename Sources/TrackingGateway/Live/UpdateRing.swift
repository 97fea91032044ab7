import NIOCore

/// The most recent updates of all trackables, in the order of their numbers. A live stream that was interrupted resumes
/// from them. Their count and their bytes are limited.
struct UpdateRing: Sendable {
    private var updates: [LiveUpdate] = []
    /// The index in `updates` of the oldest update that an interrupted live stream can still receive. The array removes
    /// the updates in front of this index later, many at once.
    private var head = 0
    private var bytes = 0
    private let maximumCount: Int
    private let maximumBytes: Int
    /// The highest number up to which all updates were dropped; 0 if no updates of this run were dropped. A stream can
    /// resume only from this number or a later one.
    private(set) var forgotten: UInt64 = 0

    init(count: Int, bytes: Int) {
        self.maximumCount = count
        self.maximumBytes = bytes
    }

    /// The number of updates that interrupted live streams can still receive.
    var count: Int { self.updates.count - self.head }

    /// Appends an update from which interrupted live streams can resume. Its number must be above all earlier ones.
    /// Removes the oldest updates beyond the limits; the appended update always remains.
    mutating func append(_ update: LiveUpdate) {
        self.updates.append(update)
        self.bytes += update.frame.readableBytes
        while self.count > 1, self.count > self.maximumCount || self.bytes > self.maximumBytes {
            self.forgotten = self.updates[self.head].id.number
            self.bytes -= self.updates[self.head].frame.readableBytes
            self.head += 1
        }
        // Remove old updates many at once, so that the cost per update is constant.
        if self.head >= 64, self.head * 2 >= self.updates.count {
            self.updates.removeFirst(self.head)
            self.head = 0
        }
    }

    /// Removes all updates. From now on, no stream can resume from an update before `number`, the number of the last
    /// update.
    mutating func forget(through number: UInt64) {
        (self.updates, self.head, self.bytes, self.forgotten) = ([], 0, 0, number)
    }

    /// Removes the matching updates, such as erased positions, which no stream may deliver any more. Streams can still
    /// resume from earlier updates; these streams do not receive the removed updates.
    mutating func remove(where isGone: (LiveUpdate) -> Bool) {
        self.updates.removeFirst(self.head)
        self.head = 0
        self.updates.removeAll(where: isGone)
        self.bytes = self.updates.reduce(0) { $0 + $1.frame.readableBytes }
    }

    /// Returns the updates with a higher number than the given one; `nil` if some of them were dropped, because of the
    /// limits or after a loss of the connection to the broker.
    func after(_ number: UInt64) -> ArraySlice<LiveUpdate>? {
        guard number >= self.forgotten else { return nil }
        var (low, high) = (self.head, self.updates.count)
        while low < high {
            let middle = (low + high) / 2
            if self.updates[middle].id.number > number { high = middle } else { low = middle + 1 }
        }
        return self.updates[low...]
    }
}
