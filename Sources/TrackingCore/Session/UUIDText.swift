/// Random UUIDs (RFC 9562, version 4) as text, drawn from a generator that can be part of a value.
public enum UUIDText {
    /// A new UUID in lower case.
    public static func random(using generator: inout some RandomNumberGenerator) -> String {
        let high = (generator.next() & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000
        let low = (generator.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        let digits = Array(Self.hex(high) + Self.hex(low))
        let parts = [digits[0..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20..<32]]
        return parts.map { String($0) }.joined(separator: "-")
    }

    private static func hex(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
