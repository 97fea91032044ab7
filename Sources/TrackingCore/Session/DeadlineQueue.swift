/// Deadlines by key, with constant-time access to the earliest one. A key has at most one deadline.
///
/// Setting and removing a deadline cost O(log n). A replaced or removed deadline may stay in the internal heap for a
/// while. Such leftovers are removed when they outnumber the current ones, so that memory stays proportional to
/// ``count``.
public struct DeadlineQueue<Key: Hashable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Comparable, Sendable {
        @usableFromInline let deadline: MonotonicTime
        /// The number of this entry: the count of calls of ``set(_:deadline:)`` at its creation, from 1. Of two entries
        /// with equal deadlines, the one with the lower number comes first. An entry in the heap is outdated if its
        /// number differs from that of its key's current entry.
        @usableFromInline let order: UInt64
        @usableFromInline let key: Key

        @inlinable
        init(deadline: MonotonicTime, order: UInt64, key: Key) {
            self.deadline = deadline
            self.order = order
            self.key = key
        }

        @inlinable static func == (left: Self, right: Self) -> Bool { left.order == right.order }
        @inlinable static func < (left: Self, right: Self) -> Bool {
            left.deadline == right.deadline ? left.order < right.order : left.deadline < right.deadline
        }
    }

    /// The current entry of a key: its deadline, and the number of its entry in the heap.
    @usableFromInline
    struct Mark: Sendable {
        @usableFromInline let deadline: MonotonicTime
        @usableFromInline let order: UInt64

        @inlinable
        init(deadline: MonotonicTime, order: UInt64) {
            self.deadline = deadline
            self.order = order
        }
    }

    @usableFromInline var living: [Key: Mark] = [:]
    /// The heap of the entries, with leftovers of removed and replaced deadlines. Its least entry, the one with the
    /// earliest deadline, is always a current one.
    @usableFromInline var heap = MinHeap<Entry>()
    @usableFromInline var settings: UInt64 = 0

    /// Makes a queue in which no key has a deadline.
    @inlinable
    public init() {}

    /// The earliest deadline of all keys; `nil` when no key has a deadline.
    @inlinable
    public var next: MonotonicTime? { self.heap.min?.deadline }

    /// The number of keys with a deadline.
    @inlinable
    public var count: Int { self.living.count }

    /// `true` when the queue contains no deadline.
    @inlinable
    public var isEmpty: Bool { self.living.isEmpty }

    /// The number of entries in the heap, including leftovers of removed and replaced deadlines. Tests use it to check
    /// the memory limit.
    var heapCount: Int { self.heap.count }

    /// The deadline of `key`; `nil` when `key` has no deadline.
    @inlinable
    public func deadline(of key: Key) -> MonotonicTime? { self.living[key]?.deadline }

    /// Sets the deadline of `key`. An earlier deadline of the same key is replaced.
    @inlinable
    public mutating func set(_ key: Key, deadline: MonotonicTime) {
        self.settings += 1
        self.living[key] = Mark(deadline: deadline, order: self.settings)
        self.heap.push(Entry(deadline: deadline, order: self.settings, key: key))
        self.dropLeftovers()
    }

    /// Gives `key` the deadline, which replaces an earlier one; `nil` removes the deadline of `key`. Does nothing if
    /// `key` has this deadline already.
    @inlinable
    public mutating func keep(_ key: Key, at deadline: MonotonicTime?) {
        guard self.living[key]?.deadline != deadline else { return }
        if let deadline { self.set(key, deadline: deadline) } else { self.remove(key) }
    }

    /// Removes the deadline of `key` and returns it; `nil` when `key` had no deadline.
    @discardableResult @inlinable
    public mutating func remove(_ key: Key) -> MonotonicTime? {
        guard let entry = self.living.removeValue(forKey: key) else { return nil }
        self.dropLeftovers()
        return entry.deadline
    }

    /// Removes and returns every key whose deadline is at or before `now`. The earliest comes first; equal deadlines
    /// come in the order in which they were set.
    @inlinable
    public mutating func popExpired(now: MonotonicTime) -> [Key] {
        var expired: [Key] = []
        while let entry = self.heap.min, entry.deadline <= now {
            self.living[entry.key] = nil
            expired.append(entry.key)
            self.dropLeftovers()
        }
        return expired
    }

    @inlinable
    mutating func dropLeftovers() {
        if self.heap.count > 2 * self.living.count + 16 {
            self.heap = MinHeap(self.living.map { Entry(deadline: $1.deadline, order: $1.order, key: $0) })
        }
        while let entry = self.heap.min, self.living[entry.key]?.order != entry.order { _ = self.heap.popMin() }
    }
}
