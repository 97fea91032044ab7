/// A member (name and value) that Godwit adds to `extra`, the JSON object with additional values of a point.
enum ExtraMember: Hashable, Sendable {
    case text(StaticStringKey, String)
    case number(StaticStringKey, Double)
    case flag(StaticStringKey, Bool)

    var name: StaticString {
        switch self {
        case .text(let key, _), .number(let key, _), .flag(let key, _): key.name
        }
    }
}

/// The name of a JSON member. It is a literal in the source code, so it needs no escaping in JSON.
struct StaticStringKey: Hashable, Sendable, ExpressibleByStringLiteral {
    let name: StaticString

    init(stringLiteral name: StaticString) { self.name = name }

    static func == (left: Self, right: Self) -> Bool { left.name.description == right.name.description }
    func hash(into hasher: inout Hasher) { hasher.combine(self.name.description) }
}

extension Location {
    /// Adds members to `extra`, the JSON object with additional values of a point. A member that already exists keeps
    /// its value. Nothing is added when `extra` is not an object or would exceed ``maximumExtraBytes``.
    mutating func addExtra(_ members: [ExtraMember]) {
        let old = self.extra ?? Array("{}".utf8)
        guard !members.isEmpty, let object = try? JSONObject(payload: old), let end = old.lastIndex(of: 0x7D) else {
            return
        }
        var writer = JSONWriter(capacity: 256)
        old[..<end].withUnsafeBufferPointer { writer.raw($0) }
        for member in members where !object.has(member.name) {
            switch member {
            case .text(_, let text): writer.member(member.name, text)
            case .number(_, let number): writer.member(member.name, number, .finite)
            case .flag(_, let flag): writer.member(member.name, flag)
            }
        }
        writer.raw("}")
        guard writer.count <= Self.maximumExtraBytes else { return }
        self.extra = writer.bytes
    }

    /// Returns `true` when `extra`, the JSON object with additional values of a point, has a member with the given name
    /// and the value `true`.
    func hasExtraFlag(_ name: StaticString) -> Bool {
        guard let extra = self.extra, let object = try? JSONObject(payload: extra) else { return false }
        return (try? object.optional(name) { json throws(Refusal) in try json.flag() }) == true
    }

    /// Returns the text value of a member of `extra`, the JSON object with additional values of a point. Returns `nil`
    /// when the member is absent or not a text.
    func extraText(_ name: StaticString) -> String? {
        guard let extra = self.extra, let object = try? JSONObject(payload: extra) else { return nil }
        return try? object.optional(name) { json throws(Refusal) in try json.text() }
    }
}
