import Foundation
import Testing

@testable import TrackingCore

/// The scanner against the grammar of RFC 8259, and against Foundation.
@Suite struct JSONScannerTests {
    @Test(arguments: [
        "{}", "[]", " [ ] ", "\t\r\n{ }\n", "null", "true", "false", "0", "-0", "12", "-0.5", "1e5", "1E+05", "1.25e-3",
        #""""#, #""a""#, #""\"\\\/\b\f\n\r\t""#, #""é\u00e9\uD83D\uDEB2""#, "\"\u{7F}\"", "[1,[2,[3]],{\"a\":{}}]",
        #"{"a":1,"a":2}"#, "\u{FEFF}{}", #"["12345678","1234567\"","\u0000"]"#,
    ])
    func accepts(text: String) throws { try Self.skip(text.payload) }

    @Test(arguments: [
        ("", "the text is not JSON: expected a value at byte 0"),
        (" ", "the text is not JSON: expected a value at byte 1"),
        ("{", "the text is not JSON: expected the name of a member at byte 1"),
        ("[", "the text is not JSON: expected a value at byte 1"),
        ("{]", "the text is not JSON: expected the name of a member at byte 1"),
        ("[}", "the text is not JSON: expected a value at byte 1"),
        ("[1,]", "the text is not JSON: expected a value at byte 3"),
        ("[,1]", "the text is not JSON: expected a value at byte 1"),
        ("[1 2]", "the text is not JSON: expected ',' or ']' at byte 3"),
        (#"{"a":1,}"#, "the text is not JSON: expected the name of a member at byte 7"),
        (#"{"a"1}"#, "the text is not JSON: expected ':' at byte 4"),
        (#"{"a":1;"b":2}"#, "the text is not JSON: expected ',' or '}' at byte 6"),
        ("{a:1}", "the text is not JSON: expected the name of a member at byte 1"),
        ("01", "the text is not JSON: expected the end at byte 1"),
        ("1.", "the text is not JSON: expected a digit at byte 2"),
        (".5", "the text is not JSON: expected a value at byte 0"),
        ("+1", "the text is not JSON: expected a value at byte 0"),
        ("-", "the text is not JSON: expected a digit at byte 1"),
        ("1e", "the text is not JSON: expected a digit at byte 2"),
        ("0x10", "the text is not JSON: expected the end at byte 1"),
        ("NaN", "the text is not JSON: expected a value at byte 0"),
        ("tru", "the text is not JSON: expected a value at byte 3"),
        ("nul1", "the text is not JSON: expected a value at byte 3"),
        ("'a'", "the text is not JSON: expected a value at byte 0"),
        (#"""#, "the text is not JSON: expected '\"' or a character at byte 1"),
        ("\"a\nb\"", "the text is not JSON: expected '\"' or a character at byte 2"),
        ("\"1234567\u{1}\"", "the text is not JSON: expected '\"' or a character at byte 8"),
        (#""\x""#, "the text is not JSON: expected an escape that JSON knows at byte 2"),
        (#""\u12G4""#, "the text is not JSON: expected four hexadecimal digits at byte 5"),
        (#""\uD800""#, "the text is not JSON: expected a surrogate pair at byte 7"),
        (#""\uDC00\uD800""#, "the text is not JSON: expected a surrogate pair at byte 7"),
        (#""\uD800\u0041""#, "the text is not JSON: expected a surrogate pair at byte 13"),
        ("{} {}", "the text is not JSON: expected the end at byte 3"),
        ("{}\u{0}", "the text is not JSON: expected the end at byte 2"),
    ])
    func refuses(text: String, message: String) {
        expectRefused(message) { () throws(TrackingError) in try Self.skip(text.payload) }
    }

    @Test(
        arguments: [[0xFF], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] as [[UInt8]])
    func refusesBytesThatAreNotUTF8(bytes: [UInt8]) {
        expectRefused("the text is not JSON: it is not UTF-8") { () throws(TrackingError) in try Self.skip(bytes) }
    }

    @Test(arguments: 0...8 as ClosedRange<UInt8>)
    func rejectsABinaryPayload(byte: UInt8) {
        expectRefused(
            "cannot read the payload: it has a binary format of a later protocol version. Update this program"
        ) {
            () throws(TrackingError) in
            try Self.skip([byte, 0x7B, 0x7D])
        }
    }

    @Test func boundsTheDepth() throws {
        let depth = WireLimits.maximumDepth
        try Self.skip(
            (String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).payload)
        for opening in ["[", #"{"a":"#] {
            expectRefused("objects and arrays are nested too deep at byte \(depth * opening.utf8.count)") {
                () throws(TrackingError) in
                try Self.skip(String(repeating: opening, count: 20_000).payload)
            }
        }
    }

    @Test func boundsTheSize() throws {
        let longest = #"""# + String(repeating: "a", count: 131_070) + #"""#
        try Self.skip(longest.payload)
        #expect(
            throws: TrackingError(
                .payloadTooLarge, "a payload may have at most 131072 bytes; this one has 131073 bytes")
        ) {
            try Self.skip((longest + " ").payload)
        }
    }

    @Test func readsTheSameTreesAsFoundation() throws {
        var generator = WireGenerator(seed: 1)
        for _ in 0..<2_000 {
            let text = JSONTree.text(&generator, depth: 4)
            let expected = try JSONDecoder().decode(JSONTree.self, from: Data(text.utf8))
            #expect(try JSONTree(text.payload) == expected, "\(text)")
        }
    }

    /// Both readers accept a damaged document with the same result, or both refuse it. Foundation alone accepts a
    /// comma before the end of an array or object.
    @Test func agreesWithFoundationOnDamagedDocuments() {
        var generator = WireGenerator(seed: 2)
        var accepted = 0
        for _ in 0..<5_000 {
            var bytes = JSONTree.text(&generator, depth: 3).payload
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                let place = bytes.indices.randomElement(using: &generator) ?? 0
                switch generator.pick([0, 1, 2]) {
                case 0 where !bytes.isEmpty: bytes.remove(at: place)
                case 1 where !bytes.isEmpty:
                    bytes[place] = generator.pick(Array("\"\\{}[],:0123456789.eE+-tfn u ".utf8))
                default: bytes.insert(generator.pick(Array("\"\\{}[],:09.eE+-\u{1}".utf8)), at: place)
                }
            }
            let ours = try? JSONTree(bytes)
            let theirs = try? JSONDecoder().decode(JSONTree.self, from: Data(bytes))
            let text = String(decoding: bytes, as: UTF8.self)
            if ours == nil, text.contains(/,[ \t\r\n]*[\]}]/) { continue }
            #expect(ours == theirs, "\(text)")
            accepted += ours == nil ? 0 : 1
        }
        #expect((1..<4_999).contains(accepted), "both kinds were met")
    }

    @Test func roundsNumbersLikeTheStandardLibrary() throws {
        var generator = WireGenerator(seed: 3)
        for _ in 0..<20_000 {
            let digits = String(UInt64.random(in: 0...UInt64.max, using: &generator)).prefix(
                Int.random(in: 1...20, using: &generator))
            let fraction =
                generator.chance(0.7) ? "." + String(UInt64.random(in: 0...UInt64.max >> 20, using: &generator)) : ""
            let exponent = generator.chance(0.4) ? "e\(Int.random(in: -330...330, using: &generator))" : ""
            let text = (generator.chance(0.5) ? "-" : "") + (digits.first == "0" ? "0" : digits) + fraction + exponent
            let expected = Double(text)!  // a decimal number
            guard expected.isFinite else { continue }
            #expect(try JSONTree(text.payload) == .number(expected), "\(text)")
        }
    }

    @Test func refusesNumbersThatAreTooLarge() {
        for text in ["1e309", "-1e999999999999999999999", String(repeating: "9", count: 400)] {
            expectRefused("the payload must be a number; found a number out of range") { () throws(TrackingError) in
                try JSONTree(text.payload)
            }
        }
        #expect(try! JSONTree("1e-999".payload) == .number(0))  // it rounds to zero
    }

    private static func skip(_ bytes: [UInt8]) throws(TrackingError) {
        try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.skipValue() }
        }
    }
}

/// A whole JSON document, for comparing readers.
enum JSONTree: Hashable, Decodable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let array = try? container.decode([JSONTree].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    init(_ bytes: [UInt8]) throws(TrackingError) {
        self = try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try Self(&json) }
        }
    }

    private init(_ json: inout JSONScanner) throws(Refusal) {
        switch json.peek() {
        case UInt8(ascii: "{"):
            var members: [String: JSONTree] = [:]
            try json.beginObject()
            while try json.nextMember() { members[json.key.text] = try JSONTree(&json) }
            self = .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONTree] = []
            try json.beginArray()
            while try json.nextElement() { elements.append(try JSONTree(&json)) }
            self = .array(elements)
        case UInt8(ascii: "\""): self = .text(try json.text())
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .flag(try json.flag())
        case UInt8(ascii: "n"): self = try json.skipNull() ? .null : .null
        default: self = .number(try json.number(.finite))
        }
    }

    /// A random document, written in unusual but valid ways. Names are not repeated within an object.
    static func text(_ generator: inout WireGenerator, depth: Int) -> String {
        func space() -> String { generator.pick(["", "", "", " ", "\n", "\t ", "\r\n"]) }
        func string() -> String {
            let pieces = [
                "a", "é", "漢", "🚲", #"\""#, #"\\"#, #"\/"#, #"\n"#, #"\u0041"#, #"\u00E9"#, #"\ud83d\udeb2"#,
                "12345678",
            ]
            return "\"" + (0..<Int.random(in: 0...6, using: &generator)).map { _ in generator.pick(pieces) }.joined()
                + "\""
        }
        switch Int.random(in: depth > 0 ? 0...6 : 2...6, using: &generator) {
        case 0:
            let members = (0..<Int.random(in: 0...4, using: &generator)).map { index in
                "\(space())\"\(index)\(string().dropFirst())\(space()):\(space())\(Self.text(&generator, depth: depth - 1))\(space())"
            }
            return "\(space()){\(members.isEmpty ? space() : members.joined(separator: ","))}\(space())"
        case 1:
            let elements = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                Self.text(&generator, depth: depth - 1)
            }
            return "\(space())[\(elements.isEmpty ? space() : elements.joined(separator: ","))]\(space())"
        case 2: return generator.pick(["true", "false", "null"])
        case 3: return String(Int.random(in: -1_000_000...1_000_000, using: &generator))
        case 4:
            return generator.pick(["0", "-0.0", "1e5", "1E-7", "2.50", "123456789.123456789e-3", "9007199254740993"])
        case 5: return String(Double.random(in: -1e6...1e6, using: &generator))
        default: return space() + string() + space()
        }
    }
}
