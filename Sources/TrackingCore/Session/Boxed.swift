/// A large value with storage of its own. Moving and copying it costs one reference. Its content is copied only when
/// one of two copies changes. It has value semantics.
@propertyWrapper
public struct Boxed<Value: Sendable>: Sendable {
    /// `@unchecked`: the value changes only while there is a single reference.
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
