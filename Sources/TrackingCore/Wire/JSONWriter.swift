/// A writer of compact JSON. The writer adds the commas between members. The caller writes matching braces.
///
/// The writer manages its own memory for speed: an array would check for shared storage at every append. Each write
/// first calls `reserve(_:)`.
package struct JSONWriter: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// The number of bytes that the writer has written so far.
    private(set) var count = 0

    package init(capacity: Int) {
        self.start = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit { self.start.deallocate() }

    /// A copy of the JSON bytes that the writer has written so far.
    package var bytes: [UInt8] { Array(UnsafeBufferPointer(start: self.start, count: self.count)) }

    /// Makes room for `more` bytes after the written ones, and returns the address of this room.
    @inline(__always)
    private mutating func reserve(_ more: Int) -> UnsafeMutablePointer<UInt8> {
        if self.capacity - self.count < more { self.grow(more) }
        return self.start + self.count
    }

    private mutating func grow(_ more: Int) {
        self.capacity = max(self.capacity * 2, self.count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: self.capacity)
        larger.update(from: self.start, count: self.count)
        self.start.deallocate()
        self.start = larger
    }

    /// Appends bytes that are already JSON to the output, unchanged.
    mutating func raw(_ json: UnsafeBufferPointer<UInt8>) {
        guard let source = json.baseAddress else { return }
        self.reserve(json.count).update(from: source, count: json.count)
        self.count += json.count
    }

    /// Appends text that is already JSON to the output, unchanged.
    @inline(__always)
    package mutating func raw(_ json: StaticString) {
        self.reserve(json.utf8CodeUnitCount).update(from: json.utf8Start, count: json.utf8CodeUnitCount)
        self.count += json.utf8CodeUnitCount
    }

    /// Appends one byte that is already JSON to the output, unchanged.
    @inline(__always)
    mutating func raw(_ byte: UInt8) {
        self.reserve(1).pointee = byte
        self.count += 1
    }

    /// Removes the bytes between two offsets from the JSON that was written so far. The bytes behind them move up to
    /// close the gap.
    mutating func remove(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count)
        let rest = self.count - range.upperBound
        (self.start + range.lowerBound).update(from: self.start + range.upperBound, count: rest)
        self.count -= range.count
    }

    /// Writes a comma, except directly after an opening brace or bracket and at the start of the output.
    @inline(__always)
    package mutating func separate() {
        guard self.count > 0 else { return }
        let last = self.start[self.count - 1]
        if last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { self.raw(UInt8(ascii: ",")) }
    }

    /// Writes the name of the next member of an object, with the comma before and the colon after the name. The caller
    /// then writes the member's value.
    package mutating func name(_ name: StaticString) {
        self.separate()
        self.raw(UInt8(ascii: "\""))
        self.raw(name)
        self.raw(UInt8(ascii: "\""))
        self.raw(UInt8(ascii: ":"))
    }

    // MARK: Strings

    /// Writes a JSON string, with quotation marks and the necessary escapes.
    package mutating func text(_ text: String) {
        var text = text
        text.withUTF8 { self.quoted($0) }
    }

    private mutating func quoted(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.raw(UInt8(ascii: "\""))
        if bytes.contains(where: Self.needsEscape) {
            for byte in bytes { self.escaped(byte) }
        } else {
            self.raw(bytes)
        }
        self.raw(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case 0..<0x20:
            self.raw("\\u00")
            self.raw(byte < 0x10 ? "0" : "1")
            self.raw(Array("0123456789abcdef".utf8)[Int(byte & 15)])
        case UInt8(ascii: "\""): self.raw("\\\"")
        case UInt8(ascii: "\\"): self.raw("\\\\")
        default: self.raw(byte)
        }
    }

    // MARK: Numbers

    /// Writes a finite number as the shortest decimal that parses to the same `Double`. Integers have no fraction.
    ///
    /// Most numbers in fixes have at most 7 decimal places. These are written with fast integer arithmetic; all others
    /// are written by the standard library.
    package mutating func number(_ value: Double) {
        guard
            self.decimal(value, scale: 1e2, decimals: 2) || self.decimal(value, scale: 1e7, decimals: 7)
                || self.decimal(value, scale: 1e4, decimals: 4)
        else {
            let text = value.description
            for byte in text.hasSuffix(".0") ? text.utf8.dropLast(2) : text.utf8[...] { self.raw(byte) }
            return
        }
    }

    /// Tries to write a number with at most `decimals` decimal places. Writes it and returns `true` if it then parses
    /// to the same `Double`; otherwise writes nothing and returns `false`.
    ///
    /// - Parameter scale: 10 to the power of `decimals`.
    @inline(__always)
    private mutating func decimal(_ value: Double, scale: Double, decimals: Int) -> Bool {
        let scaled = value.magnitude * scale
        guard scaled < 1e15 else { return false }
        let integer = UInt64(scaled + 0.5)
        guard Double(integer) / scale == value.magnitude else { return false }
        if value < 0 { self.raw(UInt8(ascii: "-")) }
        self.digits(integer, decimals: decimals)
        return true
    }

    /// Writes `value` / 10^`decimals` without trailing zeros in the fraction.
    mutating func digits(_ value: UInt64, decimals: Int) {
        var rest = value
        var decimals = decimals
        while decimals > 0, rest % 10 == 0 {
            rest /= 10
            decimals -= 1
        }
        let longest = 24  // the 20 digits of a UInt64, and a point
        let first = self.reserve(longest)
        var position = first + longest
        func put(_ byte: UInt8) {
            position -= 1
            position.pointee = byte
        }
        func putDigit() {
            put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        if decimals > 0 {
            for _ in 0..<decimals { putDigit() }
            put(UInt8(ascii: "."))
        }
        repeat { putDigit() } while rest > 0
        let count = first + longest - position
        first.update(from: position, count: count)
        self.count += count
    }
}
