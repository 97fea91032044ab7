/// A JSON value other than `null`. Parsing omits each member or element that is `null`, because `null` means absent.
///
/// This type represents data without a Swift type of its own: the arguments of a command, the result of an answer, the
/// detail of an event.
public enum JSONValue: Hashable, Sendable {
    case text(String)
    /// A finite number. When a number that is not finite is written, it is omitted from its object or list, and written
    /// as 0 where it stands alone.
    case number(Double)
    case flag(Bool)
    case list([JSONValue])
    case object([String: JSONValue])

    /// Parses a payload of at most 128 KB that contains one JSON value.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for invalid JSON or a single `null`;
    ///   ``TrackingError/Code/payloadTooLarge``.
    public init(json: some Collection<UInt8>) throws(TrackingError) {
        try self.init(json: json, maximumBytes: WireLimits.maximumPayloadBytes)
    }

    /// Parses a text of at most `maximumBytes` that contains one JSON value and is no payload of a message.
    ///
    /// - Throws: The same errors as ``init(json:)``.
    package init(json: some Collection<UInt8>, maximumBytes: Int) throws(TrackingError) {
        let bytes = Array(json)
        let value = try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes, maximumBytes: maximumBytes) { json throws(Refusal) in try json.value() }
        }
        guard let value else {
            throw TrackingError(.invalidPayload, "the payload must be a JSON value other than null")
        }
        self = value
    }

    /// The JSON text of this value in UTF-8, without white space between the parts. Members of objects are ordered by
    /// name.
    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.value(self)
        return writer.bytes
    }

    /// The text, if this JSON value is a string; otherwise `nil`.
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    /// The number, if this JSON value is a number; otherwise `nil`.
    public var number: Double? { if case .number(let number) = self { number } else { nil } }
    /// The Boolean, if this JSON value is `true` or `false`; otherwise `nil`.
    public var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    /// The elements, if this JSON value is an array; otherwise `nil`.
    public var list: [JSONValue]? { if case .list(let list) = self { list } else { nil } }
    /// The members, if this JSON value is an object; otherwise `nil`.
    public var object: [String: JSONValue]? { if case .object(let object) = self { object } else { nil } }
    /// The member with the given name, if this JSON value is an object; `nil` when the object has no such member, and
    /// for other values.
    public subscript(name: String) -> JSONValue? { self.object?[name] }

    /// The number of levels of nested objects and arrays in this JSON value; 0 for a string, number or Boolean.
    package var depth: Int {
        switch self {
        case .text, .number, .flag: 0
        case .list(let list): 1 + (list.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.values.map(\.depth).max() ?? 0)
        }
    }

    /// The number as an integer, if this JSON value is a whole number from 0 to 2^53 - 1; otherwise `nil`.
    public var count: Int? {
        guard let number = self.number, let count = Int(exactly: number), (0...WireLimits.greatest).contains(count)
        else { return nil }
        return count
    }
}

extension JSONScanner {
    /// Reads a JSON value of any kind; returns `nil` for `null`.
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

    /// Reads a JSON object with all its values. Members that are `null` are omitted.
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
    /// Writes a JSON value of any kind.
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

    /// Writes a JSON object. Its members are ordered by name. Members whose number is not finite are omitted.
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
