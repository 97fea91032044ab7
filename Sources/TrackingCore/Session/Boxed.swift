/// A wrapper that stores a large value on the heap, so that moving or copying it costs only one reference. The value is
/// copied when one of two copies changes. The wrapper has value semantics.
@propertyWrapper
public struct Boxed<Value: Sendable>: Sendable {
    /// The heap storage of the value. `@unchecked Sendable` is safe, because the value changes only while there is a
    /// single reference to it.
    @usableFromInline
    final class Box: @unchecked Sendable {
        @usableFromInline var value: Value

        @inlinable
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var box: Box

    /// Stores a value on the heap.
    @inlinable
    public init(wrappedValue: Value) { self.box = Box(wrappedValue) }

    /// The stored value.
    @inlinable
    public var wrappedValue: Value {
        _read { yield self.box.value }
        _modify {
            if !isKnownUniquelyReferenced(&self.box) { self.box = Box(self.box.value) }
            yield &self.box.value
        }
    }
}
