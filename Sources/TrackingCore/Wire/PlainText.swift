/// Rules for texts from outside that are shown to people, such as names, modes of travel and trip ids.
extension Unicode.Scalar {
    /// `true` for a control character: C0, DEL or C1.
    var isControl: Bool { self.value < 0x20 || (0x7F..<0xA0).contains(self.value) }

    /// `true` for a character that overrides, embeds or isolates the direction of the text around it.
    private var isDirectionOverride: Bool {
        (0x202A...0x202E).contains(self.value) || (0x2066...0x2069).contains(self.value)
    }

    /// `true` for a character that separates lines or paragraphs.
    private var isLineSeparator: Bool { self.value == 0x2028 || self.value == 0x2029 }

    /// `true` for a character that names must not contain: a control character, a line separator, or one that changes
    /// the direction of text.
    fileprivate var isRefusedInNames: Bool { self.isControl || self.isDirectionOverride || self.isLineSeparator }

    /// `true` for a character that can move a terminal's cursor, end a line or change the direction of text.
    fileprivate var isEscapedForDisplay: Bool {
        guard !self.isASCII else { return self.isControl }
        return self.isControl || self.isLineSeparator || self.properties.isBidiControl
    }

    /// The character as a JSON escape of four hexadecimal digits, such as `\u001b`.
    fileprivate var escape: String {
        let digits = String(self.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

extension String {
    /// `true` when the text has no control character, no line separator and no character that changes the direction of
    /// text. This is the rule for names that people read.
    package var isPlainText: Bool {
        self.utf8.allSatisfy { (0x20..<0x7F).contains($0) } || !self.unicodeScalars.contains(where: \.isRefusedInNames)
    }

    /// `true` when the text may be a trip id: 1 to 64 bytes of plain text.
    package var isTripID: Bool {
        (1...WireLimits.maximumTripIDBytes).contains(self.utf8.count) && self.isPlainText
    }

    /// `true` when the text may be the metadata of a trackable: 1 to 1,024 bytes of plain text.
    package var isMetadata: Bool {
        (1...WireLimits.maximumMetadataBytes).contains(self.utf8.count) && self.isPlainText
    }

    /// The text, safe to print on a terminal or in a CSV cell. Characters that could move the cursor, end the line or
    /// change the direction of text are replaced by escapes such as `\u001b`.
    package var printable: String {
        guard self.unicodeScalars.contains(where: \.isEscapedForDisplay) else { return self }
        return self.escaping(\.isEscapedForDisplay)
    }

    /// The JSON text, safe to print on a terminal or in a CSV cell. The characters that ``printable`` escapes are
    /// written as JSON escapes, so that the JSON has the same value. White space between values remains.
    package var printableJSON: String {
        // Below U+0020, JSON contains only white space, and only between values.
        let isEscaped: (Unicode.Scalar) -> Bool = { $0.value >= 0x20 && $0.isEscapedForDisplay }
        guard self.unicodeScalars.contains(where: isEscaped) else { return self }
        return self.escaping(isEscaped)
    }

    private func escaping(_ isEscaped: (Unicode.Scalar) -> Bool) -> String {
        var text = ""
        for scalar in self.unicodeScalars {
            if isEscaped(scalar) { text += scalar.escape } else { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}
