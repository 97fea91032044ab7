import TrackingCore
import TrackingSQLite

/// Collects the records of one read from the log, directly from SQLite's memory.
struct RecordReader {
    /// The number by which the log's tables name the stream of the records.
    let number: Int64
    private let sum: RecordChecksum
    private let maximumCount: Int
    private let maximumBytes: Int
    private var records = SpoolRecords()
    /// The number (`seq`) of the record that this read returned last; 0 before the first one.
    private(set) var last: UInt64 = 0
    /// The number (`seq`) of the first record that the read left out because of its limits; `nil` if none was left out.
    private(set) var excess: UInt64?
    /// The bytes of the trip id of the record that was read last. Its text is reused for the next record, which most
    /// often has the same trip.
    private var trip: [UInt8] = []
    private var tripID: String?

    init(_ stream: SpoolBook.Stream, maximumCount: Int, maximumBytes: Int) {
        self.number = stream.number
        self.sum = stream.sum
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    /// Reserves memory for `count` records, at most for 10,000. A record is counted as about 300 bytes, the size of a
    /// point.
    mutating func reserve(_ count: Int) {
        let count = min(count, 10_000)
        self.records.reserve(count, bytes: min(320 * count, self.maximumBytes))
    }

    /// Adds the record of a row with the columns seq, time, kind, trip, payload and checksum. A damaged row is skipped.
    /// If the record exceeds the limits of the read, only its number is stored, in ``excess``.
    mutating func take(_ row: DirectStatement) {
        let payload = row.buffer(4, isText: false)
        guard let kind = UInt8(exactly: row.integer(2)).flatMap(SpoolRecord.Kind.init),
            let seq = UInt64(exactly: row.integer(0)), seq > self.last
        else { return }
        let trip = row.isNull(3) ? UnsafeRawBufferPointer(start: nil, count: 0) : row.buffer(3, isText: true)
        let (time, checksum) = (row.number(1), UInt64(bitPattern: row.integer(5)))
        let value = self.sum.value(
            seq: seq, time: time, kind: kind.rawValue, trip: trip, payload: payload)
        guard value == checksum else { return }
        let isFull =
            self.records.count >= self.maximumCount
            || (!self.records.isEmpty && payload.count > self.maximumBytes - self.records.byteCount)
        guard !isFull else { return self.excess = seq }
        self.last = seq
        self.records.append(
            seq: seq, time: UnixTime(time), kind: kind, tripID: row.isNull(3) ? nil : self.text(trip), payload: payload)
    }

    /// Returns the records that were read. Those of the requested numbers `seqs` that are not among the records are
    /// returned as missing.
    func reading(of seqs: SeqSet) -> SpoolReading {
        var missing = seqs
        missing.subtract(self.records.seqs)
        return SpoolReading(records: self.records, missing: missing)
    }

    private mutating func text(_ bytes: UnsafeRawBufferPointer) -> String {
        if let tripID = self.tripID, self.trip.elementsEqual(bytes) { return tripID }
        let text = String(decoding: bytes, as: UTF8.self)
        (self.trip, self.tripID) = (Array(bytes), text)
        return text
    }
}
