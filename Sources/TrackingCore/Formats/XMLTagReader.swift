/// A parser for the inside of an XML tag: the element's name and its attributes.
package struct XMLTagReader {
    private var rest: ArraySlice<UInt8>

    /// Makes a parser for the inside of an XML tag: the bytes between `<` or `</` and `>` or `/>`.
    init(_ tag: ArraySlice<UInt8>) { self.rest = tag }

    /// Reads the element's name and returns it without its namespace prefix; returns `nil` when there is none.
    mutating func name() -> String? {
        let name = self.rest.prefix { !Self.isSpace($0) && $0 != UInt8(ascii: "=") }
        self.rest = self.rest.dropFirst(name.count)
        let local = name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
        return local.isEmpty ? nil : String(decoding: local, as: UTF8.self)
    }

    /// Reads the attributes of the element, and returns their values by name, without namespace prefixes. Returns `nil`
    /// when the syntax is invalid.
    mutating func attributes() -> [String: String]? {
        var attributes: [String: String] = [:]
        while true {
            self.rest = self.rest.drop(while: Self.isSpace)
            if self.rest.isEmpty { return attributes }
            guard let name = self.name() else { return nil }
            self.rest = self.rest.drop(while: Self.isSpace)
            guard self.rest.popFirst() == UInt8(ascii: "=") else { return nil }
            self.rest = self.rest.drop(while: Self.isSpace)
            guard let quote = self.rest.popFirst(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                let end = self.rest.firstIndex(of: quote)
            else { return nil }
            attributes[name] = Self.unescaped(self.rest[..<end])
            self.rest = self.rest[(end + 1)...]
        }
    }

    /// Returns `true` for a byte that is ASCII white space: a space, or one of the bytes 0x09 to 0x0D.
    package static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Returns the text with its XML references, such as `&amp;`, replaced by the characters that they mean. Unknown
    /// references remain.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var text = ""
        var rest = Substring(decoding: bytes, as: UTF8.self)
        while let start = rest.firstIndex(of: "&") {
            text += rest[..<start]
            rest = rest[start...]
            guard let end = rest.prefix(12).firstIndex(of: ";"),
                let character = Self.character(rest[..<end].dropFirst())
            else {
                text += "&"
                rest.removeFirst()
                continue
            }
            text.unicodeScalars.append(character)
            rest = rest[rest.index(after: end)...]
        }
        return text + rest
    }

    private static func character(_ name: Substring) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst(1)).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}
