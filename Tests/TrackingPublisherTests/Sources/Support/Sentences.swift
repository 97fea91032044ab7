import TrackingCore

@testable import TrackingPublisher

/// Writes NMEA for tests.
enum Sentences {
    /// A sentence with its checksum, without line end.
    static func make(_ body: String) -> String {
        String(decoding: SerialReceiverStateMachine.sentence(body).dropLast(2), as: UTF8.self)
    }

    /// One second of a receiver at 52°39′N 8°37′W, `index` seconds after 12:00:00 on 2024-05-17: RMC, VTG, GGA, GSA,
    /// GST, GSV.
    static func epoch(_ index: Int, talker: String = "GN") -> [String] {
        let time = Self.time(index)
        let latitude = "5239.\(Self.padded(1000 + index, 4)),N"
        return [
            "\(talker)RMC,\(time),A,\(latitude),00837.5000,W,10.0,45.0,170524,,,A",
            "\(talker)VTG,45.0,T,,M,10.0,N,18.52,K,A",
            "\(talker)GGA,\(time),\(latitude),00837.5000,W,1,09,0.9,20.0,M,57.0,M,,",
            "\(talker)GSA,A,3,01,02,03,,,,,,,,,,1.7,0.9,1.4",
            "\(talker)GST,\(time),1.0,,,,3.0,4.0,6.0",
            "\(talker)GSV,1,1,01,01,40,083,46",
        ].map(Self.make)
    }

    static func time(_ index: Int) -> String { "12\(Self.padded(index / 60, 2))\(Self.padded(index % 60, 2)).00" }

    static func text(_ lines: [String]) -> String { lines.map { $0 + "\r\n" }.joined() }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension UnixTime {
    /// A moment written in ISO 8601.
    static func at(_ text: String) -> UnixTime {
        // Written in a test.
        ISO8601.parse(text.utf8)!
    }
}

/// Numbers for property tests: the same for the same seed.
struct Dice: RandomNumberGenerator {
    private var generator: SplitMix64
    init(_ seed: UInt64) { self.generator = SplitMix64(seed: seed) }
    mutating func next() -> UInt64 { self.generator.next() }

    /// Cuts bytes into pieces of random lengths.
    mutating func pieces(of bytes: [UInt8], upTo longest: Int = 50) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Int.random(in: 1...longest, using: &self))
            pieces.append(bytes[start..<end])
            start = end
        }
        return pieces
    }
}
