import TrackingCore

/// The checksum of a record's row: 64 bits over the stream's id and the record's number, time, kind, trip and payload.
/// It is computed from eight bytes (a word) at a time.
///
/// Each word is added by `rotate((sum ^ word) * odd)`, which is reversible. Therefore a change within one word always
/// changes the checksum. A payload is divided among four sums, so that the processor can multiply in parallel.
struct RecordChecksum: Hashable, Sendable {
    private let seed: UInt64

    init(_ stream: StreamID) {
        self.seed = Array(stream.rawValue.utf8).withUnsafeBytes { bytes in
            Self.add(bytes, to: Self.mixed(0x9E37_79B9_7F4A_7C15, UInt64(bytes.count)))
        }
    }

    /// Returns the checksum of the values in a record's row.
    ///
    /// - Parameter trip: The bytes of the trip id; empty for none.
    func value(
        seq: UInt64, time: Double, kind: UInt8, trip: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer
    ) -> UInt64 {
        var sum = Self.mixed(self.seed, seq)
        sum = Self.mixed(sum, time.bitPattern)
        sum = Self.mixed(sum, UInt64(kind) | UInt64(truncatingIfNeeded: trip.count) << 8)
        sum = Self.mixed(sum, UInt64(truncatingIfNeeded: payload.count))
        sum = Self.add(trip, to: sum)
        sum = Self.add(payload, to: sum)
        sum = (sum ^ sum >> 32) &* Self.factor
        return sum ^ sum >> 29
    }

    /// Returns the checksum of a record of this checksum's stream.
    func value(of record: SpoolRecord) -> UInt64 {
        var trip = record.tripID ?? ""
        return trip.withUTF8 { trip in
            record.payload.withUnsafeBytes { payload in
                self.value(
                    seq: record.seq, time: record.time.seconds, kind: record.kind.rawValue,
                    trip: UnsafeRawBufferPointer(trip), payload: payload)
            }
        }
    }

    private static let factor: UInt64 = 0xBF58_476D_1CE4_E5B9

    @inline(__always)
    private static func mixed(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let product = (sum ^ word) &* Self.factor
        return product << 31 | product >> 33
    }

    private static func add(_ bytes: UnsafeRawBufferPointer, to start: UInt64) -> UInt64 {
        var sum = start
        var place = 0
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place + offset, as: UInt64.self))
        }
        if bytes.count >= 32 {
            var (first, second, third, fourth) = (sum, sum &+ 1, sum &+ 2, sum &+ 3)
            while place + 32 <= bytes.count {
                first = Self.mixed(first, word(0))
                second = Self.mixed(second, word(8))
                third = Self.mixed(third, word(16))
                fourth = Self.mixed(fourth, word(24))
                place += 32
            }
            sum = Self.mixed(Self.mixed(Self.mixed(Self.mixed(sum, first), second), third), fourth)
        }
        while place + 8 <= bytes.count {
            sum = Self.mixed(sum, word(0))
            place += 8
        }
        guard place < bytes.count else { return sum }
        var last: UInt64 = 0
        for byte in bytes[place...].reversed() { last = last << 8 | UInt64(byte) }
        return Self.mixed(sum, last)
    }
}
