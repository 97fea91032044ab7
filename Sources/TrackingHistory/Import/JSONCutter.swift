/// Splits a sequence of JSON objects into values, while the bytes arrive in pieces of any size. The values are the
/// elements of certain lists of each object, such as `features`, or the object itself if it has no such list. The
/// sequence may also be one JSON array of objects.
///
/// The cutter examines only brackets and strings; the grammar of a value is checked later. A line end inside a string,
/// or a bracket in an impossible position, ends the current object as broken, and the next object begins. So a damaged
/// line affects little more than itself. A value above ``limit`` bytes is dropped.
struct JSONCutter: Sendable {
    /// An item that the cutter found in the JSON text: a value, the end of an object, or an error. `line` is the number
    /// of the line where the item begins. For ``brokenOff(line:)``, it is the last line of the input.
    enum Piece: Hashable, Sendable {
        /// A complete JSON value. It is either an element of a list, with the name of the list, or a whole object that
        /// has none of the lists, with `nil` as the name.
        case value([UInt8], of: String?, line: Int)
        /// The end of a JSON object that has one of the lists, such as `features`. The elements of the list were
        /// returned before, as values.
        case emptied
        /// A JSON value above ``JSONCutter/limit`` bytes. Its bytes were dropped.
        case tooLong(line: Int)
        /// Bytes that are not JSON: bytes other than white space outside of all objects, or a broken object. Reported
        /// once for each line.
        case notJSON(line: Int)
        /// The input ended inside a JSON object, or inside the array that encloses all objects.
        case brokenOff(line: Int)
    }

    /// The maximum number of bytes of a value: 128 KB. Larger values are dropped.
    static let limit = 131_072

    private let lists: Set<String>
    /// The bytes of the JSON value that is being read, as far as they were read. Before a list such as `features`
    /// begins, they are the beginning of the whole object.
    private var bytes: [UInt8] = []
    private var isTooLong = false
    private var startLine = 1
    private var line = 1
    private var depth = 0
    /// The name of the list, such as `features`, whose elements are being read; `nil` outside of such a list.
    private var list: String?
    private var isInList: Bool { self.list != nil }
    /// `true` when the JSON object that is being read had a list such as `features`. The bytes of the object after the
    /// list are then ignored.
    private var hadList = false
    private var isInString = false
    private var isEscaped = false
    /// The beginning of the last string at the top level of the JSON object that is being read. If a colon follows, the
    /// string is the name of a member.
    private var name: [UInt8] = []
    private var isNamed = false
    private var badLine = 0
    /// `true` until the input has its first JSON object, an array that encloses all objects, or a byte that is not
    /// JSON.
    private var isFirst = true
    /// `true` while the JSON array that encloses all objects of the input has begun and not ended.
    private var isWhole = false
    /// The last byte of the input that is neither white space nor inside a string. Inside an object, an opening bracket
    /// is possible only after `:`, `,` or `[`.
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

    /// Ends the input. Returns the item ``Piece/brokenOff(line:)`` if a JSON object, or the array around all objects,
    /// has not ended; otherwise none.
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
        // No list name is longer.
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

    /// Reports the JSON object that is being read as broken and abandons it, so that the next object can begin.
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

    /// Ends an element of a list such as `features` at a comma or at the list's closing bracket, if the element is a
    /// plain value such as a number. Elements that are objects or arrays end at their own brackets.
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
        // The remainder of an object after its list is not needed.
        if self.isTooLong || (self.hadList && !self.isInList) { return }
        if self.bytes.count >= Self.limit {
            self.isTooLong = true
            self.bytes = []
        } else {
            self.bytes.append(byte)
        }
    }
}
