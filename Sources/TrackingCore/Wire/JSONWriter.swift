/// Writes compact JSON. The caller sees to the balance of braces; commas between members are set here.
struct JSONWriter {
    var bytes: [UInt8] = []

    init(capacity: Int) { self.bytes.reserveCapacity(capacity) }

    /// Appends text that is JSON already.
    mutating func raw(_ text: StaticString) {
        self.bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends bytes that are JSON already.
    mutating func raw(_ json: [UInt8]) { self.bytes.append(contentsOf: json) }

    /// Begins the next member of an object; its value follows.
    mutating func name(_ name: StaticString) {
        self.separate()
        self.bytes.append(UInt8(ascii: "\""))
        self.raw(name)
        self.raw("\":")
    }

    /// Sets the comma before a member or element that is not the first.
    mutating func separate() {
        if let last = self.bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") {
            self.bytes.append(UInt8(ascii: ","))
        }
    }

    /// Writes a member, or nothing where the value is unknown or not allowed on the wire.
    mutating func member(_ name: StaticString, _ value: Double?, _ rule: NumberRule) {
        guard let value, rule.allows(value) else { return }
        self.name(name)
        self.number(value)
    }

    /// Writes a member, or nothing where the value is unknown.
    mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.text(value)
    }

    /// Writes a member, or nothing where the value is unknown.
    mutating func member(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.raw(value ? "true" : "false")
    }

    /// Writes a member, or nothing where the value is unknown or beyond ±(2^53 - 1).
    mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
        guard let value, value.magnitude <= WireLimits.maximumInteger else { return }
        self.name(name)
        if value < 0 { self.bytes.append(UInt8(ascii: "-")) }
        self.digits(UInt64(value.magnitude), decimals: 0)
    }

    /// Writes a string.
    mutating func text(_ text: String) {
        self.bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): self.raw("\\\"")
            case UInt8(ascii: "\\"): self.raw("\\\\")
            case 0..<0x20:
                let hexadecimal = Array("0123456789abcdef".utf8)
                self.raw("\\u00")
                self.bytes += [hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]]
            default: self.bytes.append(byte)
            }
        }
        self.bytes.append(UInt8(ascii: "\""))
    }

    /// Removes what was written between two counts of bytes.
    mutating func remove(_ range: Range<Int>) { self.bytes.removeSubrange(range) }
}
