/// One record of a device's log in its encoded form: a recorded point, a version of a trip, or an event.
public struct SpoolRecord: Hashable, Sendable {
    /// The kind of a record: point, trip or event. The log's files contain the raw values.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The record is a recorded point, encoded as a GeoJSON Feature.
        case point = 0
        /// The record is a version of a trip, encoded as JSON.
        case trip = 1
        /// The record is an event, encoded as JSON.
        case event = 2
    }

    /// The record's number in its stream, from 1.
    public var seq: UInt64
    /// The time of the point, trip or event. The order of records does not depend on it but on ``seq``.
    public var time: UnixTime
    /// The kind of the record: point, trip or event.
    public var kind: Kind
    /// The id of the trip that the record belongs to; `nil` for none.
    public var tripID: String?
    /// The record as JSON. It is encoded only once, so that the same bytes are sent when the record is sent again.
    public var payload: [UInt8]

    /// Makes a record of a device's log from its number, its time, its kind, its trip, and its JSON.
    public init(seq: UInt64, time: UnixTime, kind: Kind, tripID: String? = nil, payload: [UInt8]) {
        self.seq = seq
        self.time = time
        self.kind = kind
        self.tripID = tripID
        self.payload = payload
    }

    /// Returns a 64-bit checksum (FNV-1a) of the record and the name of its stream. A change of any single byte changes
    /// the checksum.
    public func checksum(in stream: StreamID) -> UInt64 {
        var sum = FNV1a()
        sum.add(stream.rawValue.utf8)
        sum.add(0)
        sum.add(number: self.seq)
        sum.add(number: self.time.seconds.bitPattern)
        sum.add(self.kind.rawValue)
        sum.add((self.tripID ?? "").utf8)
        sum.add(0)
        sum.add(self.payload)
        return sum.value
    }
}

/// The calculation of the 64-bit hash FNV-1a of Fowler, Noll and Vo (RFC 9923).
package struct FNV1a {
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    package mutating func add(_ byte: UInt8) { self.value = (self.value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

    package mutating func add(_ bytes: some Sequence<UInt8>) { for byte in bytes { self.add(byte) } }

    package mutating func add(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { buffer in
            var value = self.value
            for byte in buffer { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
            self.value = value
        }
    }

    package mutating func add(number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { self.add(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }
}
