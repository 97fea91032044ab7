import Foundation
import Testing

@testable import TrackingGateway

@Suite struct InflationTests {
    // "harbour lights, harbour lights", as gzip, zlib and bare deflate.
    private static let text = Array("harbour lights, harbour lights".utf8)
    private static let gzip: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 44, 74, 202, 47, 45, 82, 200, 201, 76, 207, 40, 41, 214, 81, 200, 64,
        225, 3, 0, 206, 243, 204, 180, 30, 0, 0, 0,
    ]
    private static let zlib: [UInt8] = [
        120, 156, 203, 72, 44, 74, 202, 47, 45, 82, 200, 201, 76, 207, 40, 41, 214, 81, 200, 64, 225, 3, 0, 178, 66, 11,
        137,
    ]
    private static let deflate: [UInt8] = [
        203, 72, 44, 74, 202, 47, 45, 82, 200, 201, 76, 207, 40, 41, 214, 81, 200, 64, 225, 3, 0,
    ]

    @Test func everyWriting() throws {
        for bytes in [Self.gzip, Self.zlib, Self.deflate] {
            #expect(try Inflation.inflate(bytes, limit: Self.text.count) == Self.text)
        }
        #expect(try Inflation.inflate(Self.gzip + Self.gzip, limit: 100) == Self.text + Self.text)
    }

    @Test func aByteOverTheLimitIsTooMuch() {
        #expect(throws: Inflation.Failure.tooLarge) { try Inflation.inflate(Self.gzip, limit: Self.text.count - 1) }
    }

    @Test func aBombStopsAtTheLimit() throws {
        // A megabyte of zeros in about a kilobyte, repeated a thousand times.
        let member = try clientFixture("zeros.gz")
        let bomb = Array(repeatElement(member, count: 1000).joined())
        #expect(throws: Inflation.Failure.tooLarge) { try Inflation.inflate(bomb, limit: 8_388_608) }
    }

    @Test func damageIsDamage() {
        #expect(throws: Inflation.Failure.damaged) { try Inflation.inflate([], limit: 10) }
        #expect(throws: Inflation.Failure.damaged) { try Inflation.inflate(Array(Self.gzip.dropLast()), limit: 100) }
        #expect(throws: Inflation.Failure.damaged) { try Inflation.inflate(Array("{}".utf8), limit: 100) }
        var flipped = Self.gzip
        flipped[12] ^= 0xFF
        #expect(throws: Inflation.Failure.self) { try Inflation.inflate(flipped, limit: 100) }
    }
}
