/// Splits the bytes of a receiver's output or of a recorded file into lines. The bytes may arrive in pieces of any
/// size. A line longer than ``limit`` is dropped, so the memory use is bounded.
package struct LineSplitter: Sendable {
    /// A line of the input: its bytes and its number or, for a line that was too long, only its number.
    package enum Line: Hashable, Sendable {
        /// The bytes of a line, without its line end (`\n`, `\r\n` or `\r`), and the line's number. The first line has
        /// the number 1.
        case text(ArraySlice<UInt8>, number: Int)
        /// A line longer than ``LineSplitter/limit``. Only its number is returned; its bytes were dropped.
        case tooLong(number: Int)
    }

    /// The maximum number of bytes of a line: 64 KB.
    package static let limit = 65_536

    /// The bytes received so far of a line whose line end has not arrived yet, at most ``limit`` of them. Empty while
    /// the rest of a longer line is skipped.
    private var begun: [UInt8] = []
    private var isSkipping = false
    private var number = 1
    /// `true` when the last byte that was appended is `\r`. A `\n` that follows then belongs to the same line end, and
    /// does not end another line.
    private var followsReturn = false

    /// Makes a splitter that has received no bytes. The first line gets the number 1.
    package init() {}

    /// Appends the next bytes of the input, and returns the lines that they complete.
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

    /// Ends the input. Returns the rest after the last line end as the last line; `nil` when there is no such rest.
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
