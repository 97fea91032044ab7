/// One JSON object whose grammar was checked and whose members are read when they are asked for, by the type they should
/// have. For messages that are rare; the hot ones are read by ``JSONScanner`` alone.
struct JSONObject {
    private let bytes: [UInt8]
    private let members: [String: Range<Int>]
    private let root: WireRoot

    /// Reads a payload from the network.
    init(payload: some Collection<UInt8>) throws(TrackingError) {
        try self.init(Array(payload), .message)
    }

    /// Reads the object `bytes`, whose members are beneath `root`.
    private init(_ bytes: [UInt8], _ root: WireRoot) throws(TrackingError) {
        self.members = try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.places() }
        }
        self.bytes = bytes
        self.root = root
    }

    /// Whether there is a member of this name, `null` included.
    func has(_ name: StaticString) -> Bool { self.members[name.description] != nil }

    /// Reads a member with `read`; `nil` when it is absent or `null`.
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

    /// Reads a member with `read`.
    ///
    /// - Throws: `invalidPayload` when it is absent or `null`, too.
    func required<Value>(
        _ name: StaticString, _ read: (inout JSONScanner) throws(Refusal) -> Value
    ) throws(TrackingError) -> Value {
        if let value = try self.optional(name, read) { return value }
        throw TrackingError(.invalidPayload, "\(self.root.path(name.description)) is missing")
    }

    /// Reads a member that is an object, whose own members are beneath `root`.
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
    /// Reads an object and returns the range of the value of each of its members.
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
