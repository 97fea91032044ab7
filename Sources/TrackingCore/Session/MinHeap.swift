/// A binary heap with constant-time access to its least element. Adding and removing cost O(log n).
@usableFromInline
struct MinHeap<Element: Comparable & Sendable>: Sendable {
    @usableFromInline var elements: [Element]

    @inlinable
    init() { self.elements = [] }

    /// Creates a heap of `elements` in O(n).
    @inlinable
    init(_ elements: [Element]) {
        self.elements = elements
        for index in (0..<(elements.count / 2)).reversed() { self.siftDown(from: index) }
    }

    @inlinable
    var count: Int { self.elements.count }

    /// The least element, which remains in the heap; `nil` when the heap is empty.
    @inlinable
    var min: Element? { self.elements.first }

    @inlinable
    mutating func push(_ element: Element) {
        self.elements.append(element)
        self.siftUp(from: self.elements.count - 1)
    }

    /// Removes and returns the least element; `nil` when the heap is empty.
    @inlinable
    mutating func popMin() -> Element? {
        guard let last = self.elements.popLast() else { return nil }
        guard let least = self.elements.first else { return last }
        self.elements[0] = last
        self.siftDown(from: 0)
        return least
    }

    @inlinable
    mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard self.elements[child] < self.elements[parent] else { return }
            self.elements.swapAt(child, parent)
            child = parent
        }
    }

    @inlinable
    mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var least = parent
            let left = 2 * parent + 1
            let right = left + 1
            if left < self.elements.count, self.elements[left] < self.elements[least] { least = left }
            if right < self.elements.count, self.elements[right] < self.elements[least] { least = right }
            guard least != parent else { return }
            self.elements.swapAt(parent, least)
            parent = least
        }
    }
}
