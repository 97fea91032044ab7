import Testing
import TrackingCrypto

@Suite struct SHA256Tests {
    /// The example of FIPS 180-4 and the digest of no bytes.
    @Test func digestsOfTheStandard() {
        #expect(
            Self.hex(SHA256.digest(of: Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            Self.hex(SHA256.digest(of: []))
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test func theBoundariesOfPartsDoNotChangeTheDigest() {
        #expect(SHA256.digest(of: Array("a".utf8), [], Array("bc".utf8)) == SHA256.digest(of: Array("abc".utf8)))
    }

    /// Test cases 2 and 6 of RFC 4231: a short key, and a key longer than a block.
    @Test func authenticationCodesOfTheStandard() {
        let short = SHA256.authenticationCode(for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(Self.hex(short) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let long = SHA256.authenticationCode(
            for: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            key: [UInt8](repeating: 0xAA, count: 131))
        #expect(Self.hex(long) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
