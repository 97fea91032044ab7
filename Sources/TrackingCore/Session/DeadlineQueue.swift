/// Deadlines by key, such as those of leases, grace periods and waits, with constant-time access to the next one.
///
/// A key has at most one deadline. Setting and removing cost O(log n). A replaced deadline stays in the heap until its
/// time comes, or until such leftovers outnumber the current ones, so that memory stays proportional to `count`. The
/// type is inlinable, because deciders use it several times for each event and specialised code takes a fraction of the
/// time.
public struct DeadlineQueue<Key: Hashable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Comparable, Sendable {
        @usableFromInline let deadline: MonotonicTime
        /// The number of the setting, which distinguishes a current entry from a leftover and orders equal deadlines.
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
    /// The heap, whose least entry is always a current one.
    @usableFromInline var heap = MinHeap<Entry>()
    @usableFromInline var settings: UInt64 = 0

    /// Makes a queue without deadlines.
    @inlinable
    public init() {}

    /// The earliest deadline; `nil` when there is none.
    @inlinable
    public var next: MonotonicTime? { self.heap.min?.deadline }

    /// The number of keys with a deadline.
    @inlinable
    public var count: Int { self.living.count }

    /// `true` when no key has a deadline.
    @inlinable
    public var isEmpty: Bool { self.living.isEmpty }

    /// The number of entries in the heap, including those that were removed or replaced; for tests of the maximum.
    var heapCount: Int { self.heap.count }

    /// The deadline of `key`; `nil` when it has none.
    @inlinable
    public func deadline(of key: Key) -> MonotonicTime? { self.living[key]?.deadline }

    /// Sets the deadline of `key`, in place of an earlier one.
    @inlinable
    public mutating func set(_ key: Key, deadline: MonotonicTime) {
        self.settings += 1
        let entry = Entry(deadline: deadline, order: self.settings, key: key)
        self.living[key] = entry
        self.heap.push(entry)
        self.dropLeftovers()
    }

    /// Sets the deadline of `key`, or removes it (`nil`). Does nothing if the deadline is unchanged.
    @inlinable
    public mutating func keep(_ key: Key, at deadline: MonotonicTime?) {
        guard self.living[key]?.deadline != deadline else { return }
        if let deadline { self.set(key, deadline: deadline) } else { self.remove(key) }
    }

    /// Removes and returns the deadline of `key`; `nil` when it had none.
    @discardableResult @inlinable
    public mutating func remove(_ key: Key) -> MonotonicTime? {
        guard let entry = self.living.removeValue(forKey: key) else { return nil }
        self.dropLeftovers()
        return entry.deadline
    }

    /// Removes and returns every key whose deadline is at or before `now`: the earliest first, equal ones in the order
    /// of setting.
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
