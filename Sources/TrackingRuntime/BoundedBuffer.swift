public import DequeModule

/// A queue of elements that wait for one listener, limited in number and in bytes. When a new element exceeds a limit,
/// the oldest elements are dropped. The newest element always remains, however large it is.
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

    @usableFromInline var entries: Deque<Entry> = []
    @usableFromInline let maximumCount: Int
    @usableFromInline let maximumBytes: Int

    @usableFromInline var total = 0
    /// The greatest number of elements in the buffer since it was last empty.
    @usableFromInline var peak = 0

    /// The number of bytes of all elements in the buffer.
    @inlinable
    public var bytes: Int { self.total }

    /// Makes an empty buffer.
    ///
    /// - Parameters:
    ///   - count: The maximum number of waiting elements, at least 1.
    ///   - bytes: The maximum number of bytes of all waiting elements.
    @inlinable
    public init(count: Int, bytes: Int) {
        self.maximumCount = count
        self.maximumBytes = bytes
    }

    /// The number of elements in the buffer.
    @inlinable
    public var count: Int { self.entries.count }

    /// Adds an element at the end of the buffer. While the buffer exceeds a limit, its oldest elements are dropped, but
    /// never the last one.
    ///
    /// - Parameter bytes: The approximate size of the element.
    /// - Returns: The number of older elements that were dropped to make room.
    @inlinable
    public mutating func append(_ element: Element, bytes: Int) -> Int {
        self.entries.append(Entry(element: element, bytes: bytes))
        self.total += bytes
        self.peak = max(self.peak, self.entries.count)
        var dropped = 0
        while self.count > 1, self.count > self.maximumCount || self.bytes > self.maximumBytes {
            _ = self.popFirst()
            dropped += 1
        }
        return dropped
    }

    /// Removes and returns the oldest element; `nil` when the buffer is empty.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard let entry = self.entries.popFirst() else { return nil }
        self.total -= entry.bytes
        // The memory of a burst is released when the buffer is empty again.
        if self.entries.isEmpty {
            if self.peak > 1_024 { self.entries = [] }
            self.peak = 0
        }
        return entry.element
    }
}
