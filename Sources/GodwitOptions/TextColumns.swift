/// The number of terminal columns that a character takes.
extension Character {
    /// The number of columns that the character takes on a terminal: two for East Asian characters and emoji, none for
    /// invisible characters, else one.
    public var columns: Int {
        guard let first = self.unicodeScalars.first else { return 0 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        let isPicture = first.properties.isEmojiPresentation || self.unicodeScalars.contains("\u{FE0F}")
        return isPicture || Self.wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    /// The ranges of Unicode code points of wide and full-width characters (Unicode Standard Annex 11), which take two
    /// columns of a terminal.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
        0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]
}

extension StringProtocol {
    /// The number of columns that the text takes on a terminal.
    public var columns: Int {
        // Most texts are printable ASCII, in which each byte takes one column.
        if self.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self.utf8.count }
        return self.reduce(0) { $0 + $1.columns }
    }

    /// Returns the longest beginning of the text that fits into this many columns of a terminal.
    public func prefix(columns: Int) -> SubSequence {
        var left = columns
        return self.prefix { character in
            left -= character.columns
            return left >= 0
        }
    }
}
