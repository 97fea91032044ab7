import Testing
import TrackingCore

/// Text of unknown clients that is displayed to people.
struct PlainTextTests {
    @Test(arguments: ["", "van 7", "Straße 🚐", "שלום\u{200F}", "a'b", "=1+1"])
    func namesOfAllLanguagesArePlain(text: String) {
        #expect(text.isPlainText)
    }

    @Test(arguments: ["\0", "a\tb", "a\r\nb", "\u{1B}[2J", "\u{7F}", "\u{9B}2J", "\u{202E}b", "\u{2066}b", "\u{2028}"])
    func controlCharactersAndDirectionOverridesAreNotPlainAndAreEscaped(text: String) throws {
        #expect(!text.isPlainText && !text.isTripID)
        #expect(throws: TrackingError.self) { try TripMode(text) }
        #expect(text.printable.isPlainText && text.printable.contains("\\u"))
        #expect(text.printable.unicodeScalars.allSatisfy { $0.isASCII })
    }

    @Test func displayedTextIsEscapedAsInJSON() {
        #expect("a\u{1B}b\u{9B}c\u{202E}d".printable == #"a\u001bb\u009bc\u202ed"#)
        #expect("שלום\u{200F}".printable == #"שלום\u200f"#)
        #expect("van 🚐".printable == "van 🚐")
    }

    @Test func displayedJSONIsTheSameValue() throws {
        let value = JSONValue.object(["a\u{7F}": .text("b\u{1B}\u{9B}\u{202E}c"), "n": .number(1)])
        let json = String(decoding: value.json, as: UTF8.self)
        #expect(json.printableJSON != json && json.printableJSON.isPlainText)
        #expect(try JSONValue(json: json.printableJSON.utf8) == value)
        #expect("{\n \"a\": 1}".printableJSON == "{\n \"a\": 1}", "white space between values remains")
    }

    @Test func anIDOfATripHas1To64Bytes() {
        #expect("5f2c".isTripID && String(repeating: "t", count: 64).isTripID)
        #expect(!"".isTripID && !String(repeating: "t", count: 65).isTripID)
    }
}
