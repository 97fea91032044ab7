/// A member that this program adds to the `extra` of a point.
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

/// A name written in the source.
struct StaticStringKey: Hashable, Sendable, ExpressibleByStringLiteral {
    let name: StaticString

    init(stringLiteral name: StaticString) { self.name = name }

    static func == (left: Self, right: Self) -> Bool { left.name.description == right.name.description }
    func hash(into hasher: inout Hasher) { hasher.combine(self.name.description) }
}

extension Location {
    /// Adds members to `extra`. What a source told wins over a member of the same name; what finds no room within
    /// ``maximumExtraBytes``, or stands beside an `extra` that is no object, is left out.
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

    /// Whether a member of `extra` is `true`.
    func hasExtraFlag(_ name: StaticString) -> Bool {
        guard let extra = self.extra, let object = try? JSONObject(payload: extra) else { return false }
        return (try? object.optional(name) { json throws(Refusal) in try json.flag() }) == true
    }

    /// Returns a member of `extra` that is a text; `nil` where there is none.
    func extraText(_ name: StaticString) -> String? {
        guard let extra = self.extra, let object = try? JSONObject(payload: extra) else { return nil }
        return try? object.optional(name) { json throws(Refusal) in try json.text() }
    }
}
