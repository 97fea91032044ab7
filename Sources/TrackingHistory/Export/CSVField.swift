import TrackingCore

/// Fields of CSV (RFC 4180) that spreadsheets take for what they are.
///
/// A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula. Texts come from strangers, so such a text gets
/// an apostrophe in front, which spreadsheets take for the mark of a text; ``unprotected(_:)`` removes it. Numbers remain
/// numbers.
package enum CSVField {
    /// The field of a text: protected, and with its control characters escaped.
    package static func text(_ text: String) -> String { self.quoted(self.protected(text.printable)) }

    /// The field of JSON, with the control characters in its texts escaped.
    package static func json(_ json: String) -> String { self.quoted(self.protected(json.printableJSON)) }

    /// The field of a number, a time or another value that this program writes itself.
    package static func value(_ text: String) -> String { self.quoted(text) }

    /// The text of a field as it was before it was protected.
    static func unprotected(_ field: String) -> String {
        guard field.utf8.first == self.apostrophe, self.isProtected(field) else { return field }
        return String(field.dropFirst())
    }

    private static let apostrophe = UInt8(ascii: "'")

    private static func protected(_ text: String) -> String { self.isProtected(text) ? "'" + text : text }

    /// `true` for a text that begins as a formula does, apostrophes in front of that left aside.
    private static func isProtected(_ text: String) -> Bool {
        guard let first = text.utf8.first(where: { $0 != self.apostrophe }) else { return false }
        return "=+-@\t\r".utf8.contains(first)
    }

    private static func quoted(_ text: String) -> String {
        let special: [UInt8] = [0x22, 0x2C, 0x0A, 0x0D]
        guard text.utf8.contains(where: special.contains) else { return text }
        // Not characters: a quote with an accent on it is another one.
        let quoted = text.utf8.flatMap { $0 == 0x22 ? [$0, $0] : [$0] }
        return "\"" + String(decoding: quoted, as: UTF8.self) + "\""
    }
}
