import Testing

@testable import TrackingCore

/// The encoding of numbers and strings.
@Suite struct JSONWriterTests {
    @Test(
        arguments: [
            (0.0, "0"), (-0.0, "0"), (1, "1"), (-1, "-1"), (0.1, "0.1"), (4.05, "4.05"), (-8.661746, "-8.661746"),
            (52.629151, "52.629151"), (1_550_475_950.25, "1550475950.25"), (0.0000001, "0.0000001"),
            (1234567.1234567, "1234567.1234567"), (100, "100"), (1e15, "1000000000000000"), (1e16, "1e+16"),
            (1e21, "1e+21"),
            (.leastNonzeroMagnitude, "5e-324"),
            (0.1 + 0.2, "0.30000000000000004"), (9_007_199_254_740_991, "9007199254740991"), (-1e-9, "-1e-09"),
            (.greatestFiniteMagnitude, "1.7976931348623157e+308"),
        ] as [(Double, String)])
    func number(value: Double, text: String) {
        let written = Self.write { $0.number(value) }
        #expect(Double(written) == value)
        #expect(written == text || written.utf8.count <= text.utf8.count, "\(written)")
    }

    @Test func numbersReadBackAndAreShortest() throws {
        var generator = WireGenerator(seed: 4)
        for _ in 0..<50_000 {
            let value =
                generator.chance(0.5)
                ? generator.number(-200...200) * generator.pick([1, 1e-6, 1e7, 1e9])
                : Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            let text = Self.write { $0.number(value) }
            #expect(Double(text) == value, "\(text)")
            #expect(Self.digits(text) == Self.digits(value.description), "\(text) \(value)")
            #expect(!text.hasSuffix(".0"))
        }
    }

    @Test(arguments: [
        ("", #""""#), ("van-7", #""van-7""#), ("a\"b\\c/d", #""a\"b\\c/d""#),
        ("\n\u{0}\u{1F}\u{7F}", "\"\\u000a\\u0000\\u001f\u{7F}\""),
        ("é漢🚲\u{2028}", "\"é漢🚲\u{2028}\""),
    ])
    func text(value: String, json: String) { #expect(Self.write { $0.text(value) } == json) }

    @Test func growsAsNeeded() {
        let text = String(repeating: "x", count: 10_000)
        #expect(Self.write { $0.text(text) }.utf8.count == 10_002)
    }

    /// The significant digits of a number in any notation.
    private static func digits(_ text: String) -> String {
        let mantissa = text.prefix { $0 != "e" }.filter(\.isNumber)
        return String(mantissa.trimmingPrefix { $0 == "0" }.reversed().drop { $0 == "0" }.reversed())
    }

    private static func write(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 16)
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
