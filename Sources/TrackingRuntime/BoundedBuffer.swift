/// What waits for one listener: bounded by count and by bytes, and the oldest makes way. The newest is kept, however large.
public struct BoundedBuffer<Element: Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let element: Element
        @usableFromInline let bytes: Int

        @inlinable
        init(element: Element, bytes: Int) {
            self.element = element
            self.bytes = bytes
        }
    }

    /// `nil` where it was taken out.
    @usableFromInline var entries: [Entry?] = []
    @usableFromInline var head = 0
    @usableFromInline let maximumCount: Int
    @usableFromInline let maximumBytes: Int

    @usableFromInline var total = 0

    /// How many bytes wait.
    @inlinable
    public var bytes: Int { self.total }

    /// Makes an empty buffer.
    @inlinable
    public init(count: Int, bytes: Int) {
        self.maximumCount = count
        self.maximumBytes = bytes
    }

    /// How many elements wait.
    @inlinable
    public var count: Int { self.entries.count - self.head }

    /// Adds an element that takes about this many bytes.
    ///
    /// - Returns: How many older ones were dropped for it.
    @inlinable
    public mutating func append(_ element: Element, bytes: Int) -> Int {
        self.entries.append(Entry(element: element, bytes: bytes))
        self.total += bytes
        var dropped = 0
        while self.count > 1, self.count > self.maximumCount || self.bytes > self.maximumBytes {
            _ = self.popFirst()
            dropped += 1
        }
        return dropped
    }

    /// Takes the oldest out; `nil` when there is none.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard self.head < self.entries.count, let entry = self.entries[self.head].take() else { return nil }
        self.head += 1
        self.total -= entry.bytes
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
