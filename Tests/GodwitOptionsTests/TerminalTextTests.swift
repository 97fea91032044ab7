import Testing

@testable import GodwitOptions

/// The bytes of a keyboard and the width of text on a terminal.
@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("q", "q"), ("+-0", "+-0"), ("\u{1B}OP", ""), ("\u{1B}[20~", ""), ("\u{1B}[A+\u{1B}[1;5C-", "+-"),
        ("\u{1B}o", ""),
        ("é\u{04}", "é\u{04}"),
    ]) func onlyWhatWasTypedIsAKey(sent: String, keys: String) {
        let read = TerminalKeys.read(Array(sent.utf8))
        #expect(String(read.keys) == keys && !read.isCut)
    }

    @Test(arguments: ["\u{1B}", "\u{1B}O", "\u{1B}[", "\u{1B}[20"]) func aSequenceThatIsNotWholeIsNoKey(sent: String) {
        let read = TerminalKeys.read(Array("+\(sent)".utf8))
        #expect(read.keys == ["+"] && read.isCut)
    }

    @Test(arguments: [
        ("van-7", 5), ("車七", 4), ("🚐1", 3), ("e\u{301}", 1), ("☎\u{FE0F}", 2), ("a\u{200B}b", 2), ("Ａ한", 4),
    ])
    func wideCharactersTakeTwoColumns(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test func textIsCutToColumns() {
        #expect("車七車七".prefix(columns: 5) == "車七")
        #expect("車七車七".prefix(columns: 1) == "")
        #expect("van-7".prefix(columns: 9) == "van-7")
    }
}
