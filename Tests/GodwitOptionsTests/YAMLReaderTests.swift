import Testing

@testable import GodwitOptions

@Suite struct YAMLReaderTests {
    private func entries(_ text: String) throws -> [ConfigurationFile.Entry] {
        guard case .mapping(let entries)? = try YAMLReader.document(in: text) else { return [] }
        return entries
    }

    /// The value as Swift writes it, without the lines.
    private func text(_ value: ConfigurationFile.Value) -> String {
        switch value {
        case .text(let text): "'\(text)'"
        case .nothing: "nothing"
        case .list(let list): "[" + list.map(self.text).joined(separator: ", ") + "]"
        case .mapping(let entries):
            "{" + entries.map { "\($0.key): \(self.text($0.value))" }.joined(separator: ", ") + "}"
        }
    }

    @Test(arguments: [
        ("a: b", "'b'"), ("a: 10", "'10'"), ("a: 1_000", "'1_000'"), ("a: 0x1F", "'0x1F'"),
        ("a: 2026-11-28", "'2026-11-28'"),
        ("a: yes", "'yes'"), ("a: \"yes\"", "'yes'"), ("a: !!str 7", "'7'"),
        ("a:", "nothing"), ("a: ~", "nothing"), ("a: null", "nothing"), ("a: NULL", "nothing"), ("a: ''", "''"),
        ("a: 'null'", "'null'"), ("a: \"~\"", "'~'"), ("a: nUll", "'nUll'"),
        ("a: [1, 'b', ~]", "['1', 'b', nothing]"), ("a:\n  - 1\n  - {b: 2}", "['1', {b: '2'}]"), ("a: []", "[]"),
        ("a: |\n  one\n  two\n", "'one\ntwo\n'"), ("a: >-\n  one\n  two\n", "'one two'"),
        ("a: \"caf\\u00e9 \\\\ \\t\"", "'café \\ \t'"), ("a: b # comment", "'b'"), ("a: b#c", "'b#c'"),
    ])
    func aValueIsReadAsItIsWritten(yaml: String, value: String) throws {
        let entries = try self.entries(yaml)
        #expect(entries.map(\.key) == ["a"])
        #expect(try self.text(#require(entries.first).value) == value)
    }

    @Test func anAliasRepeatsAValue() throws {
        let entries = try self.entries("a: &x [1, 2]\nb: *x\nc: &x 3\nd: *x\n")
        #expect(entries.map { self.text($0.value) } == ["['1', '2']", "['1', '2']", "'3'", "'3'"])
        #expect(entries.map(\.line) == [1, 2, 3, 4])
    }

    @Test func aKeyIsTheTextAsItIsWritten() throws {
        let entries = try self.entries("~: 1\n'null': 2\n5: 3\n? [a]\n: 4\n")
        #expect(entries.map(\.key) == ["~", "null", "5", ""])
    }

    @Test(arguments: ["", "# nothing\n", "\n\n"]) func aTextWithoutADocumentHasNoValue(text: String) throws {
        let value = try YAMLReader.document(in: text)
        #expect(value == nil, "\(text)")
    }

    @Test func aValueMayContainAZeroByte() throws {
        #expect(try self.entries(#"a: "b\0c""#).first?.value.text == "b\0c")
    }

    @Test(arguments: [
        ("a: b\n---\nc: d\n", "syntax(problem: \"but found another document\", line: 2, column: 1)"),
        ("a: *b\n", "syntax(problem: \"found undefined alias\", line: 1, column: 4)"),
        ("a: &b [*b]\n", "syntax(problem: \"found undefined alias\", line: 1, column: 8)"),
        ("a: 1\nb: 2\na: 3\n", "duplicateKey(\"a\", line: 1)"),
        ("a: b\r\nc: d\u{1}\n", "character(problem: \"control characters are not allowed\", line: 2)"),
    ])
    func aFaultHasALine(yaml: String, fault: String) {
        #expect { try YAMLReader.document(in: yaml) } throws: { "\($0)" == fault }
    }

    /// A file of 300 bytes that stands for 10 to the power of 9 values.
    @Test func aliasesOfAliasesAreLimited() {
        let lines = (1...9).map { level in
            "k\(level): &k\(level) [" + (0..<10).map { _ in level == 1 ? "x" : "*k\(level - 1)" }.joined(separator: ",")
                + "]"
        }
        #expect { try YAMLReader.document(in: lines.joined(separator: "\n")) } throws: {
            "\($0)" == "tooLarge(line: 5)"
        }
    }

    @Test func theDepthIsLimited() throws {
        let nested = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(try YAMLReader.document(in: nested(YAMLReader.maximumDepth)) != nil)
        #expect { try YAMLReader.document(in: nested(YAMLReader.maximumDepth + 1)) } throws: {
            "\($0)" == "tooLarge(line: 1)"
        }
        #expect(throws: YAMLFault.self) { try YAMLReader.document(in: nested(20_000)) }
    }
}
