/// The members of a JSON object as source text: the exact bytes of each value in the input.
///
/// The member `extra` of a point must be passed on unchanged. ``JSONValue`` would omit `null`, round numbers and
/// reorder members. Therefore `extra` is built from source text.
package struct JSONSource: Sendable {
    /// The source text of each value by the member's name, `null` included, without surrounding white space. Of several
    /// members with one name, only the last is here.
    package let members: [String: ArraySlice<UInt8>]

    /// Parses an object of at most 128 KB.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a text that is not a valid JSON object;
    ///   ``TrackingError/Code/payloadTooLarge`` above 128 KB.
    package init(object json: ArraySlice<UInt8>) throws(TrackingError) {
        let places = try json.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.places() }
        }
        self.members = places.mapValues { json[(json.startIndex + $0.lowerBound)..<(json.startIndex + $0.upperBound)] }
    }

    /// Makes an object's source text from values that were already parsed. Each value is encoded as JSON again.
    package init(_ members: [String: JSONValue]) { self.members = members.mapValues { $0.json[...] } }

    /// The members of the object that is the value of the member `name`; `nil` when that member is absent or not an
    /// object.
    package subscript(name: String) -> JSONSource? { self.members[name].flatMap { try? JSONSource(object: $0) } }
}

extension Location {
    /// Returns a point's `extra` object, built from members in source text and ordered by name; `nil` when no member
    /// fits.
    ///
    /// Omits members whose values are invalid or nest too deep. Then it omits the largest members until the object has
    /// at most ``maximumExtraBytes``.
    package static func extra(of members: [String: ArraySlice<UInt8>]) -> [UInt8]? {
        Self.extra(nil, adding: members)
    }

    /// Returns a point's `extra` object with further members, each in source text. The bytes of the object remain
    /// unchanged, and the further members follow, ordered by name.
    ///
    /// Omits members with the name of a present one, and those whose values are invalid or nest too deep. Then it omits
    /// the largest further members until the object has at most ``maximumExtraBytes``.
    ///
    /// - Parameter extra: The present object, valid JSON; `nil` for none.
    /// - Returns: The object; `nil` when there is none and no member fits.
    package static func extra(_ extra: [UInt8]?, adding members: [String: ArraySlice<UInt8>]) -> [UInt8]? {
        let present = extra.flatMap { try? JSONSource(object: $0[...]) }?.members ?? [:]
        let candidates = members.filter { present[$0.key] == nil && Self.fitsExtra($0.value) }
            .map { (name: $0.key, json: JSONValue.text($0.key).json + [UInt8(ascii: ":")] + $0.value) }
        // The present object without its closing brace. Each further member is followed by a comma or that brace.
        let object = extra ?? Array("{}".utf8)
        let start = object[..<(object.lastIndex(of: UInt8(ascii: "}")) ?? 0)]
        var room = Self.maximumExtraBytes - start.count - (present.isEmpty ? 0 : 1)
        var chosen: [(name: String, json: [UInt8])] = []
        for member in candidates.sorted(by: { ($0.json.count, $0.name) < ($1.json.count, $1.name) }) {
            room -= member.json.count + 1
            guard room >= 0 else { break }
            chosen.append(member)
        }
        guard !chosen.isEmpty else { return extra }
        let joined = chosen.sorted { $0.name < $1.name }.map(\.json).joined(separator: [UInt8(ascii: ",")])
        return start + (present.isEmpty ? [] : [UInt8(ascii: ",")]) + joined + [UInt8(ascii: "}")]
    }

    /// Returns `true` when a value may be a member of a point's `extra`: it is valid JSON within the nesting limit.
    private static func fitsExtra(_ value: ArraySlice<UInt8>) -> Bool {
        value.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes, maximumDepth: WireLimits.maximumExtraDepth - 1)
            return (try? scanner.skipValue()) != nil && scanner.isAtEnd
        }
    }
}
