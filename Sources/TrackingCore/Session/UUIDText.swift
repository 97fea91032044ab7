/// Makes random UUIDs (RFC 9562, version 4) as text, with a given random number generator.
public enum UUIDText {
    /// Returns a new random UUID in lower case.
    public static func random(using generator: inout some RandomNumberGenerator) -> String {
        let high = (generator.next() & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000
        let low = (generator.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        return String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let value = UInt8(truncatingIfNeeded: (digit < 16 ? high : low) >> (60 - 4 * UInt64(digit % 16))) & 0xF
                text[place] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                place += 1
            }
            return place
        }
    }
}
