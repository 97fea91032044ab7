/// Records of one stream with their payloads in one contiguous buffer. Reading, passing and sending hundreds of records
/// needs no allocation for each of them.
public struct SpoolRecords: RandomAccessCollection, Hashable, Sendable {
    /// A record without its payload.
    private struct Entry: Hashable, Sendable {
        var seq: UInt64
        var time: UnixTime
        var kind: SpoolRecord.Kind
        var tripID: String?
        /// The position in the buffer after the last byte of the record's payload.
        var end: Int
    }

    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    /// The indices of the entries that belong to this collection. Other entries belong to copies that share the
    /// storage.
    private var range = 0..<0

    /// Makes an empty collection.
    public init() {}

    /// Makes a collection of records.
    public init(_ records: some Sequence<SpoolRecord>) { for record in records { self.append(record) } }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of records.
    public var endIndex: Int { self.range.count }

    /// Returns a record with a copy of its payload.
    public subscript(position: Int) -> SpoolRecord {
        let entry = self.entries[self.range.lowerBound + position]
        return SpoolRecord(
            seq: entry.seq, time: entry.time, kind: entry.kind, tripID: entry.tripID,
            payload: Array(self.payload(at: position)))
    }

    /// Returns the payload of a record without copying it.
    public func payload(at position: Int) -> ArraySlice<UInt8> {
        let place = self.range.lowerBound + position
        return self.bytes[self.start(of: place)..<self.entries[place].end]
    }

    /// Returns the kind of a record.
    func kind(at position: Int) -> SpoolRecord.Kind { self.entries[self.range.lowerBound + position].kind }

    /// The number of bytes of all payloads.
    public var byteCount: Int {
        self.isEmpty ? 0 : self.entries[self.range.upperBound - 1].end - self.start(of: self.range.lowerBound)
    }

    /// The numbers of the records.
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

    /// Appends a record.
    public mutating func append(_ record: SpoolRecord) {
        record.payload.withUnsafeBytes {
            self.append(
                seq: record.seq, time: record.time, kind: record.kind, tripID: record.tripID, payload: $0)
        }
    }

    /// Appends a record with a copy of its payload.
    package mutating func append(
        seq: UInt64, time: UnixTime, kind: SpoolRecord.Kind, tripID: String?, payload: UnsafeRawBufferPointer
    ) {
        if self.range.upperBound < self.entries.count { self = Self(self) }
        self.bytes.append(contentsOf: payload)
        self.entries.append(Entry(seq: seq, time: time, kind: kind, tripID: tripID, end: self.bytes.count))
        self.range = self.range.lowerBound..<self.entries.count
    }

    /// Reserves room for `count` records with `bytes` bytes of payload in total.
    package mutating func reserve(_ count: Int, bytes: Int) {
        self.entries.reserveCapacity(count)
        self.bytes.reserveCapacity(bytes)
    }

    /// Returns the first records: at most `maximumCount`, and at most `maximumBytes` of payload, but at least one if
    /// there is one.
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

    /// Returns all records except the first `count`.
    func rest(after count: Int) -> Self {
        var part = self
        part.range = Swift.min(self.range.lowerBound + count, self.range.upperBound)..<self.range.upperBound
        return part
    }

    /// Calls `body` with the payload of each record of a kind, in order.
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

    /// Two collections are equal when their records are equal.
    public static func == (left: Self, right: Self) -> Bool { left.elementsEqual(right) }

    /// Hashes the numbers of the records.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.seqs) }
}

extension SpoolRecords: ExpressibleByArrayLiteral {
    /// Makes a collection of the elements.
    public init(arrayLiteral elements: SpoolRecord...) { self.init(elements) }
}
