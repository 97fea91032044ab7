/// A large value in a place of its own: moved and copied as one reference, and copied as a whole only when one of two copies
/// changes. A value like any other.
@propertyWrapper
public struct Boxed<Value: Sendable>: Sendable {
    /// `@unchecked`: the value changes only while nobody else has a reference.
    @usableFromInline
    final class Box: @unchecked Sendable {
        @usableFromInline var value: Value

        @inlinable
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var box: Box

    /// Boxes a value.
    @inlinable
    public init(wrappedValue: Value) { self.box = Box(wrappedValue) }

    /// The value.
    @inlinable
    public var wrappedValue: Value {
        _read { yield self.box.value }
        _modify {
            if !isKnownUniquelyReferenced(&self.box) { self.box = Box(self.box.value) }
            yield &self.box.value
        }
    }
}
