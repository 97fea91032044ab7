/// What comes from a keyboard.
enum TerminalKeys {
    /// The keys in what a terminal sent. Those that send a sequence, as arrows and function keys do, are none of ours: its letters
    /// were not typed.
    ///
    /// - Returns: The keys, and whether a sequence is cut off at the end.
    static func read(_ bytes: [UInt8]) -> (keys: [Character], isCut: Bool) {
        var typed: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == 0x1B else {
                typed.append(byte)
                continue
            }
            // ECMA-48: ESC [ parameters letter; ESC O letter of VT100; ESC letter with the Alt key.
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
