/// Deadlines by key, of which the next is always at hand: leases, grace periods, waits.
///
/// A key has at most one deadline. Setting and removing cost O(log n); a replaced deadline stays in the heap until it comes
/// up, or until such leftovers outnumber the living, so that memory stays proportional to `count`. Inlinable: deciders ask it
/// several times an event, and compiled for their keys it takes a fraction of the time.
public struct DeadlineQueue<Key: Hashable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Comparable, Sendable {
        @usableFromInline let deadline: MonotonicTime
        /// Counts the settings: tells a living entry from a leftover, and orders equal deadlines.
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

    @usableFromInline var living: [Key: Entry] = [:]
    /// Its least entry is always a living one.
    @usableFromInline var heap = MinHeap<Entry>()
    @usableFromInline var settings: UInt64 = 0

    /// Makes a queue without deadlines.
    @inlinable
    public init() {}

    /// The earliest deadline; `nil` when there is none.
    @inlinable
    public var next: MonotonicTime? { self.heap.min?.deadline }

    /// How many keys have a deadline.
    @inlinable
    public var count: Int { self.living.count }

    /// Whether no key has a deadline.
    @inlinable
    public var isEmpty: Bool { self.living.isEmpty }

    /// How many entries the heap holds, leftovers included; for tests of the bound.
    var heapCount: Int { self.heap.count }

    /// The deadline of `key`; `nil` when it has none.
    @inlinable
    public func deadline(of key: Key) -> MonotonicTime? { self.living[key]?.deadline }

    /// Gives `key` a deadline, in place of the one it had.
    @inlinable
    public mutating func set(_ key: Key, deadline: MonotonicTime) {
        self.settings += 1
        let entry = Entry(deadline: deadline, order: self.settings, key: key)
        self.living[key] = entry
        self.heap.push(entry)
        self.dropLeftovers()
    }

    /// Gives `key` this deadline, or none; nothing is done where that is so already.
    @inlinable
    public mutating func keep(_ key: Key, at deadline: MonotonicTime?) {
        guard self.living[key]?.deadline != deadline else { return }
        if let deadline { self.set(key, deadline: deadline) } else { self.remove(key) }
    }

    /// Takes the deadline of `key` away and returns it; `nil` when it had none.
    @discardableResult @inlinable
    public mutating func remove(_ key: Key) -> MonotonicTime? {
        guard let entry = self.living.removeValue(forKey: key) else { return nil }
        self.dropLeftovers()
        return entry.deadline
    }

    /// Takes out every key whose deadline is at or before `now`: the earliest first, equal ones in the order they were set.
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
            self.heap = MinHeap(Array(self.living.values))
        }
        while let entry = self.heap.min, self.living[entry.key] != entry { _ = self.heap.popMin() }
    }
}
