/// Skips the document type declaration (`<!DOCTYPE …>`) of an XML document, byte by byte. Quotes, comments and
/// instructions inside it are recognized, to find its end. The declarations themselves are ignored.
struct XMLDoctype: Sendable {
    private enum State: Sendable {
        case plain
        case quoted(UInt8)
        case comment
        case instruction
    }

    private var state = State.plain
    private var isInBrackets = false
    /// The last four bytes of the document type declaration that were read. They show if a comment or an instruction
    /// begins or ends here.
    private var recent: UInt32 = 0

    /// Reads the next byte of the document type declaration.
    ///
    /// - Returns: `true` when the byte ends the declaration.
    mutating func ends(with byte: UInt8) -> Bool {
        self.recent = self.recent << 8 | UInt32(byte)
        switch self.state {
        case .plain: return self.endsPlain(with: byte)
        case .quoted(let quote): if byte == quote { self.state = .plain }
        case .comment: if self.recent & 0xFF_FFFF == 0x2D_2D3E { self.state = .plain }  // -->
        case .instruction: if self.recent & 0xFFFF == 0x3F3E { self.state = .plain }  // ?>
        }
        return false
    }

    private mutating func endsPlain(with byte: UInt8) -> Bool {
        if self.recent == 0x3C21_2D2D {  // <!--
            self.state = .comment
            self.recent = 0
        } else if self.recent & 0xFFFF == 0x3C3F {  // <?
            self.state = .instruction
            self.recent = 0
        }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): self.state = .quoted(byte)
        case UInt8(ascii: "["): self.isInBrackets = true
        case UInt8(ascii: "]"): self.isInBrackets = false
        case UInt8(ascii: ">"): return !self.isInBrackets
        default: break
        }
        return false
    }
}
