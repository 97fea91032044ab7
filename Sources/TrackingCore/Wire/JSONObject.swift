/// A JSON object with checked grammar, whose members are decoded on demand by their expected type. It serves rare
/// messages; frequent messages are decoded by ``JSONScanner`` directly.
struct JSONObject {
    private let bytes: [UInt8]
    private let members: [String: Range<Int>]
    private let root: WireRoot

    /// Parses a payload from the network as a JSON object.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not a valid JSON object;
    ///   ``TrackingError/Code/payloadTooLarge`` above 128 KB.
    init(payload: some Collection<UInt8>) throws(TrackingError) {
        try self.init(Array(payload), .message)
    }

    /// Parses a JSON object. In error messages, the path `root` precedes the name of a member, as in
    /// `resolution.accuracy`.
    private init(_ bytes: [UInt8], _ root: WireRoot) throws(TrackingError) {
        self.members = try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.places() }
        }
        self.bytes = bytes
        self.root = root
    }

    /// Returns `true` when the JSON object has a member of this name, even if its value is `null`.
    func has(_ name: StaticString) -> Bool { self.members[name.description] != nil }

    /// Decodes the member `name` with the closure `read`. Returns `nil` when the member is absent or `null`.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` when the member is present but wrong.
    func optional<Value>(
        _ name: StaticString, _ read: (inout JSONScanner) throws(Refusal) -> Value
    ) throws(TrackingError) -> Value? {
        guard let range = self.members[name.description] else { return nil }
        return try self.bytes[range].withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in
                json.root = self.root
                json.prefix = name
                return try json.skipNull() ? nil : read(&json)
            }
        }
    }

    /// Decodes the member `name` with the closure `read`.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` when the member is absent, `null` or wrong.
    func required<Value>(
        _ name: StaticString, _ read: (inout JSONScanner) throws(Refusal) -> Value
    ) throws(TrackingError) -> Value {
        if let value = try self.optional(name, read) { return value }
        throw TrackingError(.invalidPayload, "\(self.root.path(name.description)) is missing")
    }

    /// Returns the value of the member `name`, which must be an object. In error messages, the path `root` precedes the
    /// names of that object's members.
    func object(_ name: StaticString, _ root: WireRoot) throws(TrackingError) -> JSONObject {
        let bytes = try self.required(name) { json throws(Refusal) in
            let start = json.position
            _ = try json.places()
            return Array(json.read(since: start))
        }
        return try JSONObject(bytes, root)
    }
}

extension JSONScanner {
    /// Reads a JSON object and returns the byte range of each member's value, by the member's name.
    mutating func places() throws(Refusal) -> [String: Range<Int>] {
        var members: [String: Range<Int>] = [:]
        try self.beginObject()
        while try self.nextMember() {
            let name = self.key.text
            _ = self.peek()
            let start = self.offset
            try self.skipValue()
            members[name] = start..<self.offset
        }
        return members
    }
}
