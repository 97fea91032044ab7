import TrackingCore

/// Fields of CSV (RFC 4180) that spreadsheets do not execute as formulas.
///
/// A spreadsheet treats a cell that begins with `=`, `+`, `-` or `@`, or with a tab or a carriage return, as a possible
/// formula. Texts may come from strangers, so such a text is prefixed with an apostrophe, which marks a text in
/// spreadsheets. ``unprotected(_:)`` removes it. Numbers remain numbers.
package enum CSVField {
    /// Returns a text as a CSV field. An apostrophe before it prevents spreadsheets from executing it as a formula, if
    /// it begins like one. Control characters are escaped.
    package static func text(_ text: String) -> String { self.quoted(self.protected(text.printable)) }

    /// Returns a JSON value as a CSV field. Control characters in its texts are escaped. An apostrophe prevents
    /// spreadsheets from executing it as a formula, if it begins like one.
    package static func json(_ json: String) -> String { self.quoted(self.protected(json.printableJSON)) }

    /// Returns a number, a time or another value that Godwit itself generates as a CSV field. It gets no apostrophe.
    package static func value(_ text: String) -> String { self.quoted(text) }

    /// Returns the text of a CSV field without the apostrophe that ``text(_:)`` added, because the text begins like a
    /// formula. Returns any other field unchanged.
    static func unprotected(_ field: String) -> String {
        guard field.utf8.first == self.apostrophe, self.isProtected(field) else { return field }
        return String(field.dropFirst())
    }

    private static let apostrophe = UInt8(ascii: "'")

    private static func protected(_ text: String) -> String { self.isProtected(text) ? "'" + text : text }

    /// Returns `true` for a text that a spreadsheet could execute as a formula, and for such a text after one or more
    /// apostrophes.
    private static func isProtected(_ text: String) -> Bool {
        guard let first = text.utf8.first(where: { $0 != self.apostrophe }) else { return false }
        return "=+-@\t\r".utf8.contains(first)
    }

    private static func quoted(_ text: String) -> String {
        let special: [UInt8] = [0x22, 0x2C, 0x0A, 0x0D]
        guard text.utf8.contains(where: special.contains) else { return text }
        // The comparison uses bytes, because a quotation mark with a combining accent is a different character.
        let quoted = text.utf8.flatMap { $0 == 0x22 ? [$0, $0] : [$0] }
        return "\"" + String(decoding: quoted, as: UTF8.self) + "\""
    }
}
