/// One JSON object whose grammar was checked and whose members are read when they are asked for, by the type they should
/// have. For messages that are rare; the hot ones are read by ``JSONScanner`` alone.
struct JSONObject {
    private let members: [String: ArraySlice<UInt8>]
    private let root: WirePath.Root

    /// Reads a payload from the network.
    init(payload: some Collection<UInt8>) throws(TrackingError) {
        var scanner = try JSONScanner(payload: ArraySlice(payload))
        try self.init(&scanner, .message, WirePath(.message))
        try scanner.end()
    }

    /// Reads the object that comes next. Its members are beneath `root`; `path` is its own name.
    init(_ scanner: inout JSONScanner, _ root: WirePath.Root, _ path: WirePath) throws(TrackingError) {
        var members: [String: ArraySlice<UInt8>] = [:]
        try scanner.beginObject(path)
        while try scanner.nextMember() {
            let name = String(decoding: scanner.key.bytes, as: UTF8.self)
            _ = scanner.peek()
            let start = scanner.index
            try scanner.skipValue()
            members[name] = scanner.bytes[start..<scanner.index]
        }
        self.members = members
        self.root = root
    }

    /// The names, for objects that may have any.
    var names: some Collection<String> { self.members.keys }

    /// Reads a member with `read`; `nil` when it is absent or `null`.
    func optional<Value>(
        _ name: StaticString, _ read: (inout JSONScanner, WirePath) throws(TrackingError) -> Value
    ) throws(TrackingError) -> Value? {
        guard let bytes = self.members[name.description] else { return nil }
        var scanner = JSONScanner(bytes)
        if try scanner.skipNull() { return nil }
        return try read(&scanner, WirePath(self.root, name))
    }

    /// Reads a member with `read`.
    ///
    /// - Throws: `invalidPayload` when it is absent or `null`, too.
    func required<Value>(
        _ name: StaticString, _ read: (inout JSONScanner, WirePath) throws(TrackingError) -> Value
    ) throws(TrackingError) -> Value {
        guard let value = try self.optional(name, read) else { throw .missing(WirePath(self.root, name)) }
        return value
    }

    /// The JSON of a member.
    subscript(_ name: String) -> ArraySlice<UInt8>? { self.members[name] }
}
