/// Decodes the bytes that a terminal sends for typed keys.
enum TerminalKeys {
    /// Decodes bytes into the typed characters. Escape sequences, as of arrow and function keys, are skipped.
    ///
    /// - Returns: The characters, and `true` if the bytes end within an escape sequence.
    static func read(_ bytes: [UInt8]) -> (keys: [Character], isCut: Bool) {
        var typed: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == 0x1B else {
                typed.append(byte)
                continue
            }
            // Escape sequences are `ESC [ parameters letter` (ECMA-48), `ESC O letter` (VT100), and `ESC letter` for
            // the Alt key.
            guard var last = rest.popFirst() else { return (Self.characters(typed), true) }
            if last == UInt8(ascii: "[") || last == UInt8(ascii: "O") {
                repeat {
                    guard let next = rest.popFirst() else { return (Self.characters(typed), true) }
                    last = next
                } while !(0x40...0x7E).contains(last)
            }
        }
        return (Self.characters(typed), false)
    }

    private static func characters(_ bytes: [UInt8]) -> [Character] { Array(String(decoding: bytes, as: UTF8.self)) }
}
