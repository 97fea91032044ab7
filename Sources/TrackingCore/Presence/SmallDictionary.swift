/// A dictionary that usually has one entry. It stores a single entry in place, without an object on the heap.
struct SmallDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private enum Storage: Sendable {
        case none
        case one(Key, Value)
        case many([Key: Value])
    }

    private var storage = Storage.none

    /// `true` if there is no entry.
    var isEmpty: Bool { self.count == 0 }

    /// The number of entries.
    var count: Int {
        switch self.storage {
        case .none: 0
        case .one: 1
        case .many(let entries): entries.count
        }
    }

    /// The entries, in no particular order.
    var entries: [(key: Key, value: Value)] {
        switch self.storage {
        case .none: []
        case .one(let key, let value): [(key, value)]
        case .many(let entries): entries.map { ($0.key, $0.value) }
        }
    }

    /// The value of a key; `nil` for a key without an entry.
    subscript(key: Key) -> Value? {
        get {
            switch self.storage {
            case .none: nil
            case .one(let only, let value): only == key ? value : nil
            case .many(let entries): entries[key]
            }
        }
        set { self.change(key) { $0 = newValue } }
    }

    /// Changes the value of a key in place; `nil` is a key without an entry.
    mutating func change(_ key: Key, _ body: (inout Value?) -> Void) {
        // The storage is empty meanwhile, so that there is no second reference to the dictionary.
        let storage = self.storage
        self.storage = .none
        switch consume storage {
        case .one(let only, let other) where only != key:
            var value: Value?
            body(&value)
            self.storage = value.map { .many([only: other, key: $0]) } ?? .one(only, other)
        case .many(var entries):
            body(&entries[key])
            self.storage = entries.isEmpty ? .none : .many(entries)
        case .none:
            self.setOnly(key, nil, body)
        case .one(_, let value):
            self.setOnly(key, value, body)
        }
    }

    private mutating func setOnly(_ key: Key, _ value: Value?, _ body: (inout Value?) -> Void) {
        var value = value
        body(&value)
        self.storage = value.map { .one(key, $0) } ?? .none
    }
}
