/// A multiset with access to its least value. Inserting and removing cost O(log n) in the number of distinct values.
///
/// A removed value stays in the heap as a leftover until it is the least, or until leftovers outnumber the present
/// values.
struct MinMultiset<Value: Hashable & Comparable & Sendable>: Sendable {
    /// The number of occurrences of each value in the heap; zero for a leftover.
    private var counts: [Value: Int] = [:]
    /// Every key of `counts` once. Its least value is always present, never a leftover.
    private var heap = MinHeap<Value>()
    private var leftovers = 0

    /// The least value; `nil` when the multiset is empty.
    var min: Value? { self.heap.min }

    /// The number of values in the heap, leftovers included, for tests of its maximum.
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

    /// Removes one occurrence of `value`; has no effect when there is none.
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
