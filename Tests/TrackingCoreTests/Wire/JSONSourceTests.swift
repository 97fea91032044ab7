import Testing

@testable import TrackingCore

@Suite struct JSONSourceTests {
    private func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    @Test func everyMemberIsAsItWasWritten() throws {
        let json = #" { "a" : 9007199254740993 , "b":null,"c":[1, 2.0,null],"d":{"z":1,"a":1e2},"a":1.10 } "#
        // A slice with a start index other than 0.
        let source = try JSONSource(object: ("xx" + json).payload.dropFirst(2))
        #expect(
            source.members.mapValues(self.text) == [
                "a": "1.10", "b": "null", "c": "[1, 2.0,null]", "d": #"{"z":1,"a":1e2}"#,
            ])
        #expect(source["d"]?.members.mapValues(self.text) == ["z": "1", "a": "1e2"])
        #expect(source["c"] == nil && source["none"] == nil)
    }

    @Test(arguments: ["", "[]", "{", #"{"a":01}"#, #"{"a":1}x"#])
    func anythingButAnObjectIsRefused(_ json: String) {
        #expect(throws: TrackingError.self) { try JSONSource(object: json.payload[...]) }
    }

    @Test func anExtraHasItsMembersAsTheyWereWritten() throws {
        let source = try JSONSource(object: #"{"b":null,"a":9007199254740993,"c":{"y": 1,"x":2}}"#.payload[...])
        let extra = try #require(Location.extra(of: source.members))
        #expect(self.text(extra) == #"{"a":9007199254740993,"b":null,"c":{"y": 1,"x":2}}"#)
        #expect(Location.extra(of: [:]) == nil)
    }

    @Test func theLargestMembersAreLeftOutOfAFullExtra() throws {
        let large = "\"\(String(repeating: "x", count: 4_000))\"".payload[...]
        let small = "\"\(String(repeating: "y", count: 100))\"".payload[...]
        #expect(Location.extra(of: ["l": large, "s": small]).map(self.text) == "{\"s\":\(self.text(small))}")
        // {"l":…} has exactly 4096 bytes.
        let whole = "\"\(String(repeating: "x", count: 4_088))\"".payload[...]
        #expect(Location.extra(of: ["l": whole])?.count == 4_096)
        #expect(Location.extra(of: ["ll": whole]) == nil)
    }

    @Test func membersThatNestTooDeepAreLeftOut() {
        func nested(_ depth: Int) -> ArraySlice<UInt8> {
            (String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).payload[...]
        }
        #expect(
            Location.extra(of: ["a": nested(15), "b": nested(16)]).map(self.text) == "{\"a\":\(self.text(nested(15)))}")
    }

    @Test(arguments: ["5", "-5.25", "+5", "1e3", "1E-3", ".5", "007"])
    func decimalNumbersAreRead(_ text: String) { #expect(Double(decimal: text) == Double(text)) }

    @Test(arguments: ["0x5", "0x1p3", "nan", "inf", "-infinity", "", " 5", "5 ", "1e999", "e", "1_000", "５"])
    func everythingElseIsNoDecimalNumber(_ text: String) { #expect(Double(decimal: text) == nil) }
}
