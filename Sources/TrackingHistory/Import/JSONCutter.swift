/// Cuts JSON texts that follow each other into the values that matter, whatever pieces the bytes come in: the elements of the
/// named lists at the top of an object; or the whole object, where it has none of them. The whole may be one list of objects.
///
/// It looks at brackets and strings only; whether a value is right is seen when it is read. Where a line end stands in a string,
/// or a bracket where none can, the text is broken and another one begins, so that a damaged line costs little more than
/// itself. One value is at most ``limit`` bytes; so is what stands in an object before its list.
struct JSONCutter: Sendable {
    /// What was cut out, and the line where it began.
    enum Piece: Hashable, Sendable {
        /// An element of a list, or an object that has none of them.
        case value([UInt8], of: String?, line: Int)
        /// An object that had one of the lists is over.
        case emptied
        /// A value of more than ``JSONCutter/limit`` bytes; they were dropped as they came.
        case tooLong(line: Int)
        /// Bytes outside of objects that are no white space; said once for each line.
        case notJSON(line: Int)
        /// The bytes end within a text.
        case brokenOff(line: Int)
    }

    /// The most bytes of a value: 128 KB.
    static let limit = 131_072

    private let lists: Set<String>
    /// What was read of the value, or of the object up to its list.
    private var bytes: [UInt8] = []
    private var isTooLong = false
    private var startLine = 1
    private var line = 1
    private var depth = 0
    /// The list that it is in, whose elements are cut out.
    private var list: String?
    private var isInList: Bool { self.list != nil }
    /// Whether the object had a list, so that what is left of it is no value.
    private var hadList = false
    private var isInString = false
    private var isEscaped = false
    /// The last string of the object itself, and whether a colon followed: the name of the member that comes.
    private var name: [UInt8] = []
    private var isNamed = false
    private var badLine = 0
    /// Whether nothing has come yet.
    private var isFirst = true
    /// Whether the whole is a list that has not ended.
    private var isWhole = false
    /// The last byte outside of strings that is no white space.
    private var previous: UInt8 = 0

    init(lists: Set<String>) { self.lists = lists }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [Piece] {
        var pieces: [Piece] = []
        for byte in bytes {
            self.take(byte, &pieces)
            if byte == UInt8(ascii: "\n") { self.line += 1 }
        }
        return pieces
    }

    /// Refuses what the file broke off in the middle of.
    mutating func finish() -> [Piece] {
        guard self.depth > 0 || self.isWhole else { return [] }
        defer { self.giveUp() }
        return [.brokenOff(line: self.line)]
    }

    private mutating func take(_ byte: UInt8, _ pieces: inout [Piece]) {
        if self.isInString {
            if byte == UInt8(ascii: "\n") { return self.giveUp(&pieces) }
            return self.inString(byte)
        }
        defer { if byte > 0x20 { self.previous = byte } }
        switch byte {
        case UInt8(ascii: "\""):
            guard self.depth > 0 else { return self.refuse(&pieces) }
            self.isInString = true
            if self.depth == 1 {
                self.name = []
                self.isNamed = false
            }
            self.add(byte)
        case UInt8(ascii: "{"), UInt8(ascii: "["): self.open(byte, &pieces)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): self.close(byte, &pieces)
        case UInt8(ascii: ":"):
            if self.depth == 1 { self.isNamed = true }
            self.add(byte)
        case UInt8(ascii: ","):
            if self.isInList, self.depth == 2 { return self.endScalar(&pieces) }
            if self.depth == 1 { self.isNamed = false }
            self.add(byte)
        case 0x1E: if self.depth > 0 { self.giveUp(&pieces) }
        case 0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF:
            if self.depth > 0 { self.add(byte) }
        default:
            if self.depth == 0 { return self.refuse(&pieces) }
            self.add(byte)
        }
    }

    private mutating func inString(_ byte: UInt8) {
        self.add(byte)
        if self.isEscaped {
            self.isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            self.isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            self.isInString = false
            return
        }
        // No name of a list is longer.
        if self.depth == 1, self.name.count < 32 { self.name.append(byte) }
    }

    private mutating func open(_ byte: UInt8, _ pieces: inout [Piece]) {
        let canOpen: [UInt8] = [UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "[")]
        if self.depth > 0, !canOpen.contains(self.previous) { self.giveUp(&pieces) }
        if self.depth == 0 {
            guard byte == UInt8(ascii: "{") else {
                guard self.isFirst else { return self.refuse(&pieces) }
                (self.isFirst, self.isWhole) = (false, true)
                return
            }
            self.begin()
            self.hadList = false
        } else if self.depth == 1, byte == UInt8(ascii: "["), self.isNamed, let list = self.namedList {
            self.list = list
            self.hadList = true
            self.depth = 2
            self.clear()
            return
        } else if self.isInList, self.depth == 2 {
            self.endScalar(&pieces)
            self.begin()
        }
        self.depth += 1
        self.add(byte)
    }

    private mutating func close(_ byte: UInt8, _ pieces: inout [Piece]) {
        guard self.depth > 0 else {
            guard self.isWhole, byte == UInt8(ascii: "]") else { return self.refuse(&pieces) }
            self.isWhole = false
            return
        }
        if self.isInList, self.depth == 2 {
            self.endScalar(&pieces)
            self.list = nil
            self.depth = 1
            self.isNamed = false
            return
        }
        self.depth -= 1
        self.add(byte)
        if self.isInList, self.depth == 2 {
            self.end(&pieces)
        } else if self.depth == 0 {
            if self.hadList {
                pieces.append(.emptied)
                self.clear()
            } else {
                self.end(&pieces)
            }
        }
    }

    /// The text is broken: refuses it, and waits for the next one.
    private mutating func giveUp(_ pieces: inout [Piece]) {
        if self.badLine != self.startLine { pieces.append(.notJSON(line: self.startLine)) }
        self.badLine = self.startLine
        self.giveUp()
    }

    private mutating func giveUp() {
        self.isInString = false
        self.isEscaped = false
        self.list = nil
        self.depth = 0
        self.clear()
    }

    private var namedList: String? {
        let name = String(decoding: self.name, as: UTF8.self)
        return self.lists.contains(name) ? name : nil
    }

    private mutating func refuse(_ pieces: inout [Piece]) {
        self.isFirst = false
        if self.badLine != self.line { pieces.append(.notJSON(line: self.line)) }
        self.badLine = self.line
    }

    private mutating func begin() {
        self.isFirst = false
        self.clear()
        self.startLine = self.line
    }

    private mutating func clear() {
        self.bytes = []
        self.isTooLong = false
    }

    /// An element that is neither an object nor a list ends where a comma or a bracket stands.
    private mutating func endScalar(_ pieces: inout [Piece]) {
        guard self.isTooLong || self.bytes.contains(where: { $0 > 0x20 }) else { return self.clear() }
        if self.bytes.first.map({ $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }) != true {
            self.startLine = self.line
        }
        self.end(&pieces)
    }

    private mutating func end(_ pieces: inout [Piece]) {
        pieces.append(
            self.isTooLong
                ? .tooLong(line: self.startLine) : .value(self.bytes, of: self.list, line: self.startLine))
        self.clear()
    }

    private mutating func add(_ byte: UInt8) {
        // Of an object that had its list nothing more is wanted.
        if self.isTooLong || (self.hadList && !self.isInList) { return }
        if self.bytes.count >= Self.limit {
            self.isTooLong = true
            self.bytes = []
        } else {
            self.bytes.append(byte)
        }
    }
}
