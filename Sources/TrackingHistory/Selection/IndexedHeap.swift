/// A binary heap of slots, the numbers 0 ..< `capacity`. Each slot in the heap has a key, which can change later. The
/// slot with the least key is found at once; inserting, changing and removing cost O(log n).
struct IndexedHeap: Sendable {
    /// The key of a slot (a number below the heap's capacity). The slot with the least key comes first: the least
    /// priority and, for equal priorities, the least number.
    struct Key: Comparable, Sendable {
        var priority: Double
        var number: Int

        static func < (left: Self, right: Self) -> Bool {
            (left.priority, left.number) < (right.priority, right.number)
        }
    }

    private var slots: [Int] = []
    /// For each slot (a number below the heap's capacity), its index in the array `slots`; -1 for a slot that is not in
    /// the heap.
    private var places: [Int]
    private var keys: [Key]

    /// Makes an empty heap for the slots 0 ..< `capacity`.
    init(capacity: Int) {
        self.places = Array(repeating: -1, count: capacity)
        self.keys = Array(repeating: Key(priority: 0, number: 0), count: capacity)
    }

    /// Inserts a slot (a number below the heap's capacity) with a key, or changes the key of a slot that is already in
    /// the heap.
    mutating func set(_ slot: Int, to key: Key) {
        self.keys[slot] = key
        if self.places[slot] < 0 {
            self.places[slot] = self.slots.count
            self.slots.append(slot)
        }
        self.siftUp(from: self.places[slot])
        self.siftDown(from: self.places[slot])
    }

    /// Removes the slot with the least key from the heap. A slot is a number below the heap's capacity. Returns the
    /// slot and the priority in its key; returns `nil` when the heap is empty.
    mutating func popMin() -> (slot: Int, priority: Double)? {
        guard let least = self.slots.first, let last = self.slots.popLast() else { return nil }
        self.places[least] = -1
        if last != least {
            self.put(last, at: 0)
            self.siftDown(from: 0)
        }
        return (least, self.keys[least].priority)
    }

    private mutating func put(_ slot: Int, at place: Int) {
        self.slots[place] = slot
        self.places[slot] = place
    }

    private func isLess(_ left: Int, _ right: Int) -> Bool {
        self.keys[self.slots[left]] < self.keys[self.slots[right]]
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        let slot = self.slots[left]
        self.put(self.slots[right], at: left)
        self.put(slot, at: right)
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0, self.isLess(child, (child - 1) / 2) {
            self.swap(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < self.slots.count && self.isLess(child, least) {
                least = child
            }
            guard least != parent else { return }
            self.swap(parent, least)
            parent = least
        }
    }
}
