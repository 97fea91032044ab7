/// Splits a stream of bytes into lines, with bounded memory. The stream may arrive in pieces of any size.
package struct LineSplitter: Sendable {
    /// A line of the stream: its bytes, or the note that it was too long.
    package enum Line: Hashable, Sendable {
        /// The bytes of a line, without its line end (`\n`, `\r\n` or `\r`), and the line's number. The first line has
        /// the number 1.
        case text(ArraySlice<UInt8>, number: Int)
        /// A line longer than ``LineSplitter/limit``. Only its number is returned; its bytes were dropped.
        case tooLong(number: Int)
    }

    /// The maximum number of bytes of a line: 64 KB.
    package static let limit = 65_536

    /// The bytes of the line that has no end yet, at most ``limit`` of them.
    private var begun: [UInt8] = []
    private var isSkipping = false
    private var number = 1
    /// `true` when the last byte was `\r`. If the next byte is `\n`, it belongs to the same line end.
    private var followsReturn = false

    /// Makes a splitter at the beginning of a stream, at line 1.
    package init() {}

    /// Appends bytes of the stream, and returns the lines that are now complete.
    package mutating func append(_ bytes: ArraySlice<UInt8>) -> [Line] {
        var lines: [Line] = []
        var rest = bytes
        while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            let isReturn = rest[end] == UInt8(ascii: "\r")
            if isReturn || !self.followsReturn || end > rest.startIndex {
                lines.append(self.line(endingWith: rest[..<end]))
            }
            self.followsReturn = isReturn
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { self.followsReturn = false }
        self.keep(rest)
        return lines
    }

    /// Handles the end of the stream. Returns the last line if it has no line end, else `nil`.
    package mutating func finish() -> Line? {
        guard self.isSkipping || !self.begun.isEmpty else { return nil }
        return self.line(endingWith: [])
    }

    private mutating func line(endingWith tail: ArraySlice<UInt8>) -> Line {
        defer {
            self.begun = []
            self.isSkipping = false
            self.number += 1
        }
        guard !self.isSkipping, self.begun.count + tail.count <= Self.limit else {
            return .tooLong(number: self.number)
        }
        return .text(self.begun.isEmpty ? tail : (self.begun + tail)[...], number: self.number)
    }

    private mutating func keep(_ tail: ArraySlice<UInt8>) {
        if self.isSkipping { return }
        if self.begun.count + tail.count > Self.limit {
            self.isSkipping = true
            self.begun = []
        } else {
            self.begun.append(contentsOf: tail)
        }
    }
}
