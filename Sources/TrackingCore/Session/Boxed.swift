/// A property wrapper that stores a large value on the heap, so that moving or copying the property costs only one
/// reference. The value itself is copied when one of two copies is changed. The wrapper therefore has value semantics.
@propertyWrapper
public struct Boxed<Value: Sendable>: Sendable {
    /// The object on the heap that contains the wrapped value. `@unchecked Sendable` is safe, because the value changes
    /// only while there is a single reference to the object.
    @usableFromInline
    final class Box: @unchecked Sendable {
        @usableFromInline var value: Value

        @inlinable
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var box: Box

    /// Makes a property wrapper that stores the given value in an object on the heap.
    @inlinable
    public init(wrappedValue: Value) { self.box = Box(wrappedValue) }

    /// The wrapped value, which is stored on the heap. A change copies the value first if another copy of the wrapper
    /// shares it.
    @inlinable
    public var wrappedValue: Value {
        _read { yield self.box.value }
        _modify {
            if !isKnownUniquelyReferenced(&self.box) { self.box = Box(self.box.value) }
            yield &self.box.value
        }
    }
}

extension Boxed: Equatable where Value: Equatable {
    /// Two wrappers are equal if their values are equal.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}

extension Boxed: Hashable where Value: Hashable {
    /// Hashes the wrapped value.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(self.box.value) }
}

/// A property wrapper like ``Boxed`` for a value that is usually absent: `nil` takes one word, and no object on the heap.
@propertyWrapper
package struct BoxedIfPresent<Value: Sendable>: Sendable {
    @usableFromInline var boxed: Boxed<Value>?

    /// Makes a property wrapper that stores the given value in an object on the heap; `nil` is stored without one.
    @inlinable
    package init(wrappedValue: Value?) { self.boxed = wrappedValue.map { Boxed(wrappedValue: $0) } }

    /// The wrapped value; `nil` for none. Copies of the wrapper keep their value when this one is changed.
    @inlinable
    package var wrappedValue: Value? {
        get { self.boxed?.wrappedValue }
        set { self.boxed = newValue.map { Boxed(wrappedValue: $0) } }
    }
}
