/// Cuts a stream of bytes into lines, whatever pieces it comes in, within bounded memory.
package struct LineSplitter: Sendable {
    /// What one line turned out to be.
    package enum Line: Hashable, Sendable {
        /// The bytes of the line numbered from 1, without its end (`\n`, `\r\n` or `\r`).
        case text(ArraySlice<UInt8>, number: Int)
        /// A line longer than ``LineSplitter/limit``; its bytes were dropped as they came.
        case tooLong(number: Int)
    }

    /// The most bytes of a line: 64 KB.
    package static let limit = 65_536

    /// The begun line, never longer than the limit.
    private var begun: [UInt8] = []
    private var isSkipping = false
    private var number = 1
    /// Whether the last byte was `\r`, so that a `\n` now belongs to it.
    private var followsReturn = false

    /// Starts at line 1.
    package init() {}

    /// Takes in the next bytes and gives the lines that they end.
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

    /// Gives the last line, where the stream ends without a line end.
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
