/// Any JSON value but `null`, which stands for what is absent: a member or element that is `null` is left out.
///
/// For what has no type of its own: the arguments of a command, the result of an answer, the detail of an event.
public enum JSONValue: Hashable, Sendable {
    case text(String)
    /// A finite number; any other is left out when it is written.
    case number(Double)
    case flag(Bool)
    case list([JSONValue])
    case object([String: JSONValue])

    /// Reads one value of at most 128 KB.
    ///
    /// - Throws: `invalidPayload` or `payloadTooLarge`; `null` alone is refused.
    public init(json: some Collection<UInt8>) throws(TrackingError) {
        let bytes = Array(json)
        let value = try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.value() }
        }
        guard let value else { throw TrackingError(.invalidPayload, "the payload must be a value; found null") }
        self = value
    }

    /// The value as JSON, the members of objects in the order of their names.
    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.value(self)
        return writer.bytes
    }

    /// The text, where it is one.
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    /// The number, where it is one.
    public var number: Double? { if case .number(let number) = self { number } else { nil } }
    /// The flag, where it is one.
    public var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    /// The elements, where it is a list.
    public var list: [JSONValue]? { if case .list(let list) = self { list } else { nil } }
    /// The members, where it is an object.
    public var object: [String: JSONValue]? { if case .object(let object) = self { object } else { nil } }
    /// A member of an object; `nil` where there is none.
    public subscript(name: String) -> JSONValue? { self.object?[name] }

    /// How deep objects and lists nest in it: 0 for what is neither.
    package var depth: Int {
        switch self {
        case .text, .number, .flag: 0
        case .list(let list): 1 + (list.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.values.map(\.depth).max() ?? 0)
        }
    }

    /// A whole number, where it is one from 0 to 2^53 - 1.
    public var count: Int? {
        guard let number = self.number, let count = Int(exactly: number), (0...WireLimits.greatest).contains(count)
        else { return nil }
        return count
    }
}

extension JSONScanner {
    /// Reads any value; `nil` for `null`.
    mutating func value() throws(Refusal) -> JSONValue? {
        switch self.peek() {
        case UInt8(ascii: "\""): return .text(try self.text())
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .flag(try self.flag())
        case UInt8(ascii: "{"): return .object(try self.members())
        case UInt8(ascii: "["):
            var list: [JSONValue] = []
            try self.beginArray()
            while try self.nextElement() { if let value = try self.value() { list.append(value) } }
            return .list(list)
        case UInt8(ascii: "n"):
            _ = try self.skipNull()
            return nil
        default: return .number(try self.number(.finite))
        }
    }

    /// Reads an object with all that is in it.
    mutating func members() throws(Refusal) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        try self.beginObject()
        while try self.nextMember() {
            let name = self.key.text
            members[name] = try self.value()
        }
        return members
    }
}

extension JSONWriter {
    /// Writes any value.
    mutating func value(_ value: JSONValue) {
        switch value {
        case .text(let text): self.text(text)
        case .number(let number): self.number(number.isFinite ? number : 0)
        case .flag(let flag): self.raw(flag ? "true" : "false")
        case .object(let members): self.object(members)
        case .list(let list):
            self.raw("[")
            for value in list where value.isWritable {
                self.separate()
                self.value(value)
            }
            self.raw("]")
        }
    }

    /// Writes an object, its members in the order of their names.
    mutating func object(_ members: [String: JSONValue]) {
        self.raw("{")
        for (name, value) in members.sorted(by: { $0.key < $1.key }) where value.isWritable {
            self.separate()
            self.text(name)
            self.raw(UInt8(ascii: ":"))
            self.value(value)
        }
        self.raw("}")
    }
}

extension JSONValue {
    fileprivate var isWritable: Bool { self.number?.isFinite ?? true }
}
