import NIOCore

/// The latest updates, in the order of their numbers, bounded by count and by bytes: what a stream resumes from.
struct UpdateRing: Sendable {
    private var updates: [LiveUpdate] = []
    /// Where the oldest one that is kept stands in `updates`.
    private var head = 0
    private var bytes = 0
    private let maximumCount: Int
    private let maximumBytes: Int
    /// The number of the last one that had to go; 0 while everything is kept.
    private(set) var forgotten: UInt64 = 0

    init(count: Int, bytes: Int) {
        self.maximumCount = count
        self.maximumBytes = bytes
    }

    /// How many are kept.
    var count: Int { self.updates.count - self.head }

    /// Adds one with a number above all before.
    mutating func append(_ update: LiveUpdate) {
        self.updates.append(update)
        self.bytes += update.frame.readableBytes
        while self.count > 1, self.count > self.maximumCount || self.bytes > self.maximumBytes {
            self.forgotten = self.updates[self.head].id.number
            self.bytes -= self.updates[self.head].frame.readableBytes
            self.head += 1
        }
        // What went is let go in pieces, so that each costs a constant share.
        if self.head >= 64, self.head * 2 >= self.updates.count {
            self.updates.removeFirst(self.head)
            self.head = 0
        }
    }

    /// Lets everything go up to this number, which is that of the last one.
    mutating func forget(through number: UInt64) {
        (self.updates, self.head, self.bytes, self.forgotten) = ([], 0, 0, number)
    }

    /// Takes out what nobody is to be told any more. Streams resume over it: it is no gap.
    mutating func remove(where isGone: (LiveUpdate) -> Bool) {
        self.updates.removeFirst(self.head)
        self.head = 0
        self.updates.removeAll(where: isGone)
        self.bytes = self.updates.reduce(0) { $0 + $1.frame.readableBytes }
    }

    /// Everything after a number; `nil` where some of it is not kept any more.
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
