/// A multiset with fast access to its least value. Inserting and removing cost O(log n) on average in the number of
/// distinct values.
///
/// A removed value may stay in the internal heap as a leftover. Leftovers are removed when they become the least value
/// or when they outnumber the other values.
struct MinMultiset<Value: Hashable & Comparable & Sendable>: Sendable {
    /// The number of occurrences of each value in the multiset. A value with zero occurrences is a leftover: it was
    /// removed from the multiset, but not yet from the heap.
    private var counts: [Value: Int] = [:]
    /// The heap from which the least value is read. It contains each key of `counts` once, also the leftovers, values
    /// that are no longer in the multiset. The least value of the heap is never a leftover.
    private var heap = MinHeap<Value>()
    private var leftovers = 0

    /// The least value in the multiset; `nil` when the multiset is empty.
    var min: Value? { self.heap.min }

    /// The number of values in the multiset's internal heap, including values that were removed from the multiset and
    /// not yet from the heap. Tests use it to check the memory limit.
    var heapCount: Int { self.heap.count }

    mutating func insert(_ value: Value) {
        guard let count = self.counts[value] else {
            self.counts[value] = 1
            self.heap.push(value)
            return
        }
        if count == 0 { self.leftovers -= 1 }
        self.counts[value] = count + 1
    }

    /// Removes one occurrence of `value` from the multiset; has no effect when the multiset does not contain it.
    mutating func remove(_ value: Value) {
        guard let count = self.counts[value], count > 0 else { return }
        self.counts[value] = count - 1
        guard count == 1 else { return }
        self.leftovers += 1
        self.dropLeftovers()
    }

    private mutating func dropLeftovers() {
        if self.leftovers > self.heap.count / 2 + 16 {
            self.counts = self.counts.filter { $0.value > 0 }
            self.heap = MinHeap(Array(self.counts.keys))
            self.leftovers = 0
        }
        while let least = self.heap.min, self.counts[least] == 0 {
            _ = self.heap.popMin()
            self.counts[least] = nil
            self.leftovers -= 1
        }
    }
}
