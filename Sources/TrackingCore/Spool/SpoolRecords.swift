/// A collection of records of one stream. All payloads are in one contiguous buffer, so that hundreds of records need
/// no memory allocation for each of them.
public struct SpoolRecords: RandomAccessCollection, Hashable, Sendable {
    /// One record of the collection, without its payload, which is in the common buffer.
    private struct Entry: Hashable, Sendable {
        var seq: UInt64
        var time: UnixTime
        var kind: SpoolRecord.Kind
        var tripID: String?
        /// The end of the record's payload in the common buffer, the position after its last byte.
        var end: Int
    }

    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    /// The indices of the entries that belong to this collection. The storage can contain further entries, which belong
    /// to other collections that share it.
    private var range = 0..<0

    /// Makes a collection without records.
    public init() {}

    /// Makes a collection of the given records.
    public init(_ records: some Sequence<SpoolRecord>) { for record in records { self.append(record) } }

    /// The index of the first record, always 0.
    public var startIndex: Int { 0 }
    /// The index after the last record; it equals the number of records.
    public var endIndex: Int { self.range.count }

    /// The record at the given position, with a copy of its payload.
    public subscript(position: Int) -> SpoolRecord {
        let entry = self.entries[self.range.lowerBound + position]
        return SpoolRecord(
            seq: entry.seq, time: entry.time, kind: entry.kind, tripID: entry.tripID,
            payload: Array(self.payload(at: position)))
    }

    /// Returns the payload of the record at the given position without copying it.
    public func payload(at position: Int) -> ArraySlice<UInt8> {
        let place = self.range.lowerBound + position
        return self.bytes[self.start(of: place)..<self.entries[place].end]
    }

    /// Returns the kind of the record at the given position.
    func kind(at position: Int) -> SpoolRecord.Kind { self.entries[self.range.lowerBound + position].kind }

    /// The total size of the payloads of the collection's records, in bytes.
    public var byteCount: Int {
        self.isEmpty ? 0 : self.entries[self.range.upperBound - 1].end - self.start(of: self.range.lowerBound)
    }

    /// The set of the numbers (`seq`) of the collection's records.
    public var seqs: SeqSet {
        var seqs = SeqSet()
        guard var run = self.entries[self.range].first.map({ $0.seq...$0.seq }) else { return seqs }
        for entry in self.entries[self.range].dropFirst() {
            if entry.seq == run.upperBound + 1 {
                run = run.lowerBound...entry.seq
            } else {
                seqs.insert(run)
                run = entry.seq...entry.seq
            }
        }
        seqs.insert(run)
        return seqs
    }

    /// The number (`seq`) of the first record; `nil` when the collection is empty.
    var firstSeq: UInt64? { self.entries[self.range].first?.seq }
    /// The number (`seq`) of the last record; `nil` when the collection is empty.
    var lastSeq: UInt64? { self.entries[self.range].last?.seq }

    /// Appends a record to the collection.
    public mutating func append(_ record: SpoolRecord) {
        record.payload.withUnsafeBytes {
            self.append(
                seq: record.seq, time: record.time, kind: record.kind, tripID: record.tripID, payload: $0)
        }
    }

    /// Appends a record, given by its parts, and copies its payload.
    package mutating func append(
        seq: UInt64, time: UnixTime, kind: SpoolRecord.Kind, tripID: String?, payload: UnsafeRawBufferPointer
    ) {
        if self.range.upperBound < self.entries.count { self = Self(self) }
        self.bytes.append(contentsOf: payload)
        self.entries.append(Entry(seq: seq, time: time, kind: kind, tripID: tripID, end: self.bytes.count))
        self.range = self.range.lowerBound..<self.entries.count
    }

    /// Reserves memory, so that the collection can hold `count` records with `bytes` bytes of payload in total without
    /// a further allocation.
    package mutating func reserve(_ count: Int, bytes: Int) {
        self.entries.reserveCapacity(count)
        self.bytes.reserveCapacity(bytes)
    }

    /// Returns the first records of the collection: at most `maximumCount` records with at most `maximumBytes` bytes of
    /// payload. Returns at least one record, unless the collection is empty.
    func first(_ maximumCount: Int, maximumBytes: Int) -> Self {
        guard let place = self.range.first else { return self }
        let end = Swift.min(self.range.upperBound, place + Swift.max(maximumCount, 1))
        let start = self.start(of: place)
        var part = self
        part.range = place..<(place + 1)
        while part.range.upperBound < end, self.entries[part.range.upperBound].end - start <= maximumBytes {
            part.range = place..<(part.range.upperBound + 1)
        }
        return part
    }

    /// Returns the collection without its first `count` records.
    func rest(after count: Int) -> Self {
        var part = self
        part.range = Swift.min(self.range.lowerBound + count, self.range.upperBound)..<self.range.upperBound
        return part
    }

    /// Calls `body` with the payload of each record of the given kind, in order.
    func forEachPayload(of kind: SpoolRecord.Kind, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        self.bytes.withUnsafeBufferPointer { bytes in
            var start = self.range.isEmpty ? 0 : self.start(of: self.range.lowerBound)
            for place in self.range {
                let entry = self.entries[place]
                if entry.kind == kind { body(UnsafeBufferPointer(rebasing: bytes[start..<entry.end])) }
                start = entry.end
            }
        }
    }

    func contains(_ kind: SpoolRecord.Kind) -> Bool { self.entries[self.range].contains { $0.kind == kind } }

    private func start(of place: Int) -> Int { place == 0 ? 0 : self.entries[place - 1].end }

    /// Returns `true` when both collections have equal records in the same order.
    public static func == (left: Self, right: Self) -> Bool { left.elementsEqual(right) }

    /// Hashes only the numbers of the collection's records, not their contents.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.seqs) }
}

extension SpoolRecords: ExpressibleByArrayLiteral {
    /// Makes a collection of the records of an array literal.
    public init(arrayLiteral elements: SpoolRecord...) { self.init(elements) }
}
