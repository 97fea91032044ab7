/// How often each value is there, and the least of them. Adding and removing cost O(log n) in the number of values that
/// differ.
///
/// A value that is gone stays in the heap until it comes up, or until such leftovers outnumber the living.
struct MinMultiset<Value: Hashable & Comparable & Sendable>: Sendable {
    /// Zero means that the value is gone and still in the heap.
    private var counts: [Value: Int] = [:]
    /// Every key of `counts` once. Its least value is always a living one.
    private var heap = MinHeap<Value>()
    private var leftovers = 0

    /// The least value; `nil` when there is none.
    var min: Value? { self.heap.min }

    /// How many values the heap holds, leftovers included; for tests of the bound.
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

    /// Takes one `value` out; without effect when there is none.
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
