/// Splits CSV (RFC 4180) into records. The bytes may arrive in pieces of any size. A quoted field may contain line
/// ends. A quotation mark inside a field that does not begin with one is an ordinary character.
struct CSVCutter: Sendable {
    /// A record of a CSV file: its fields, or the report that it is too long or is not UTF-8.
    enum Record: Hashable, Sendable {
        /// The fields of a CSV record and the line number of its beginning. Empty lines are not records.
        case fields([String], line: Int)
        /// A record above ``CSVCutter/limit`` bytes, or with a quoted field that does not end. Its bytes up to the next
        /// line end were dropped.
        case tooLong(line: Int)
        /// A record with a field that is not UTF-8.
        case notUTF8(line: Int)
    }

    /// The maximum number of bytes of a CSV record: 128 KB. Longer records are dropped.
    static let limit = 131_072

    /// The character that separates fields; `nil` until the first line is complete, from which it is determined.
    private(set) var separator: UInt8?
    private var fields: [String] = []
    private var field: [UInt8] = []
    private var size = 0
    private var line = 1
    private var startLine = 1
    private var isQuoted = false
    /// `true` when the last byte inside a quoted field was a quotation mark, whose meaning depends on the next byte. If
    /// the next byte is another quotation mark, both stand for one in the text. Otherwise the first one ends the field.
    private var isQuoteOpen = false
    private var isSkipping = false
    /// `true` if a field of the present record is not UTF-8.
    private var isUnreadable = false
    private var followsReturn = false
    /// The bytes of the first line of the CSV file, until the line is complete and the separator is determined from it.
    private var head: [UInt8] = []

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [Record] {
        var records: [Record] = []
        for byte in bytes { self.take(byte, &records) }
        return records
    }

    /// Ends the file. Returns the last record if the file ends without a line end. A record that ends inside a quoted
    /// field is returned as too long.
    mutating func finish() -> [Record] {
        var records: [Record] = []
        let isUnfinished = self.isQuoted && !self.isQuoteOpen
        self.isQuoted = false
        if isUnfinished {
            records.append(.tooLong(line: self.startLine))
        } else {
            self.take(UInt8(ascii: "\n"), &records)
        }
        return records
    }

    private mutating func take(_ byte: UInt8, _ records: inout [Record]) {
        defer { self.followsReturn = byte == UInt8(ascii: "\r") }
        if self.separator == nil { return self.takeHead(byte, &records) }
        if self.followsReturn, byte == UInt8(ascii: "\n"), !self.isQuoted { return }
        self.takeField(byte, &records)
        if byte == UInt8(ascii: "\n") || (byte == UInt8(ascii: "\r") && !self.isQuoted) { self.line += 1 }
        if !self.isSkipping, self.size > Self.limit {
            records.append(.tooLong(line: self.startLine))
            self.isSkipping = true
            self.isQuoted = false
            self.clear()
        }
    }

    /// Reads the first line, which determines the separator: the first `,`, `;` or tab outside of quotes.
    private mutating func takeHead(_ byte: UInt8, _ records: inout [Record]) {
        let isEnd = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
        if !isEnd, self.head.count <= Self.limit { return self.head.append(byte) }
        if isEnd, self.head.isEmpty {
            if byte == UInt8(ascii: "\n"), self.followsReturn { return }
            self.line += 1
            self.startLine = self.line
            return
        }
        let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), 0x09]
        var isQuoted = false
        let first = self.head.first { byte in
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return !isQuoted && separators.contains(byte)
        }
        self.separator = first ?? separators[0]
        let bytes = self.head.starts(with: [0xEF, 0xBB, 0xBF]) ? self.head.dropFirst(3) : self.head[...]
        self.head = []
        for byte in bytes + [byte] { self.takeField(byte, &records) }
        if isEnd { self.line += 1 }
        self.startLine = self.line
    }

    private mutating func takeField(_ byte: UInt8, _ records: inout [Record]) {
        let isEnd = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
        if self.isSkipping {
            guard isEnd else { return }
            self.isSkipping = false
            self.startLine = self.line + 1
            return
        }
        self.size += 1
        if self.isQuoted {
            self.takeQuoted(byte)
            if self.isQuoted { return }
        }
        switch byte {
        case UInt8(ascii: "\""):
            if self.field.isEmpty, !self.isQuoteOpen { self.isQuoted = true } else { self.field.append(byte) }
        case self.separator: self.endField()
        case _ where isEnd: self.endRecord(&records)
        default: self.field.append(byte)
        }
    }

    /// Reads a byte inside a quoted field. The first byte after the closing quotation mark only ends the quotation; the
    /// caller then processes that byte as an unquoted one.
    private mutating func takeQuoted(_ byte: UInt8) {
        let isQuote = byte == UInt8(ascii: "\"")
        if self.isQuoteOpen {
            self.isQuoteOpen = false
            if isQuote { self.field.append(byte) } else { self.isQuoted = false }
        } else if isQuote {
            self.isQuoteOpen = true
        } else {
            self.field.append(byte)
        }
    }

    private mutating func endField() {
        let text = String(validating: self.field, as: UTF8.self)
        self.isUnreadable = self.isUnreadable || text == nil
        self.fields.append(text ?? "")
        self.field = []
    }

    private mutating func endRecord(_ records: inout [Record]) {
        if !self.fields.isEmpty || !self.field.isEmpty {
            self.endField()
            records.append(
                self.isUnreadable ? .notUTF8(line: self.startLine) : .fields(self.fields, line: self.startLine))
        }
        self.clear()
        self.startLine = self.line + 1
    }

    private mutating func clear() {
        self.fields = []
        self.field = []
        self.size = 0
        self.isQuoteOpen = false
        self.isUnreadable = false
    }
}
