/// What waits for one listener: bounded by count and by bytes, and the oldest makes way. The newest is kept, however large.
package struct BoundedBuffer<Element: Sendable>: Sendable {
    private struct Entry: Sendable {
        let element: Element
        let bytes: Int
    }

    /// `nil` where it was taken out.
    private var entries: [Entry?] = []
    private var head = 0
    private let maximumCount: Int
    private let maximumBytes: Int

    /// How many bytes wait.
    package private(set) var bytes = 0

    /// Makes an empty buffer.
    package init(count: Int, bytes: Int) {
        self.maximumCount = count
        self.maximumBytes = bytes
    }

    /// How many elements wait.
    package var count: Int { self.entries.count - self.head }

    /// Adds an element that takes about this many bytes.
    ///
    /// - Returns: How many older ones were dropped for it.
    package mutating func append(_ element: Element, bytes: Int) -> Int {
        self.entries.append(Entry(element: element, bytes: bytes))
        self.bytes += bytes
        var dropped = 0
        while self.count > 1, self.count > self.maximumCount || self.bytes > self.maximumBytes {
            _ = self.popFirst()
            dropped += 1
        }
        return dropped
    }

    /// Takes the oldest out; `nil` when there is none.
    package mutating func popFirst() -> Element? {
        guard self.head < self.entries.count, let entry = self.entries[self.head].take() else { return nil }
        self.head += 1
        self.bytes -= entry.bytes
        if self.head == self.entries.count {
            self.entries.removeAll(keepingCapacity: self.entries.count <= 1_024)
            self.head = 0
        } else if self.head >= 64, self.head * 2 >= self.entries.count {
            self.entries.removeFirst(self.head)
            self.head = 0
        }
        return entry.element
    }
}
