import TrackingCore

/// The numbers of the records and rows in a log's file, held in memory, so that most questions need no read from the
/// file.
struct SpoolBook {
    /// The numbers of one stream.
    struct Stream {
        let number: Int64
        let id: StreamID
        let trackable: TrackableID
        /// The checksum function for the rows of the stream's records.
        let sum: RecordChecksum
        var stored = SeqSet()
        var last: UInt64 = 0
        /// The lowest number that a record of the stream may have. All records with lower numbers were removed; rows of
        /// such records may still be in the file and do not count.
        var floor: UInt64 = 1
        /// The number of rows of removed records below ``floor`` that are not deleted yet.
        var unswept = 0
        var isEnded = false
        /// `true` when the caller has forgotten the stream. The stream's row is deleted together with the last row of
        /// its records.
        var isForgotten = false
        /// The number of payload bytes of the records, and of the rows of removed records from ``weighed`` up to
        /// ``floor``.
        var bytes = 0
        /// The record number from which rows are included in ``bytes``.
        var weighed: UInt64 = 1
        /// `true` if the stream has changed since its row in the file was written.
        var isDirty = true

        init(number: Int64, id: StreamID, trackable: TrackableID, isEnded: Bool = false) {
            self.number = number
            self.id = id
            self.trackable = trackable
            self.sum = RecordChecksum(id)
            self.isEnded = isEnded
        }
    }

    /// The streams of all trackables, oldest first.
    private(set) var streams: [Stream] = []
    private var places: [StreamID: Int] = [:]
    /// The place (row id) of the next record.
    var nextPlace: Int64 = 1
    /// The number that the next stream gets in the log's tables.
    var nextStream: Int64 = 1
    /// The version number that the next stored value of the publisher gets.
    var nextVersion: Int64 = 1
    /// The number of marks of each trackable that got marks since the log was opened. A mark identifies an ingested
    /// record.
    var marks: [TrackableID: Int] = [:]
    /// The number of quarantined records.
    var quarantined = 0
    /// The number of records that were dropped in the lifetime of the log to comply with its limits.
    var dropped = 0

    var count: Int { self.streams.reduce(0) { $0 + $1.stored.count } }
    /// The number of payload bytes of all streams. See ``Stream/bytes``.
    var bytes: Int { self.streams.reduce(0) { $0 + $1.bytes } }
    /// The number of rows of removed records of all streams that are not deleted yet.
    private(set) var unswept = 0

    subscript(id: StreamID) -> Stream? { self.places[id].map { self.streams[$0] } }

    func stream(number: Int64) -> Stream? { self.streams.first { $0.number == number } }

    mutating func insert(_ stream: Stream) {
        self.places[stream.id] = self.streams.count
        self.streams.append(stream)
        self.unswept += stream.unswept
        self.nextStream = max(self.nextStream, stream.number + 1)
    }

    /// Begins a stream of a trackable. The trackable's previous stream ends, unless the new one has already ended
    /// (`isEnded`), as an old stream that is recovered.
    mutating func begin(_ id: StreamID, of trackable: TrackableID, isEnded: Bool = false) -> Stream {
        if !isEnded { self.end(trackable) }
        let stream = Stream(number: self.nextStream, id: id, trackable: trackable, isEnded: isEnded)
        self.insert(stream)
        return stream
    }

    /// Ends all streams of one trackable. Only the rows of these streams then have to be written. Otherwise, in a log
    /// of thousands of trackables, each new stream would cause all rows to be written.
    private mutating func end(_ trackable: TrackableID) {
        for place in self.streams.indices
        where !self.streams[place].isEnded && self.streams[place].trackable == trackable {
            self.streams[place].isEnded = true
            self.streams[place].isDirty = true
        }
    }

    mutating func forget(_ id: StreamID) {
        self.unswept -= self[id]?.unswept ?? 0
        self.streams.removeAll { $0.id == id }
        self.places = Dictionary(uniqueKeysWithValues: self.streams.enumerated().map { ($1.id, $0) })
    }

    /// Changes every stream, and marks all of them as changed since their rows were written.
    mutating func update(_ change: (inout Stream) -> Void) {
        for place in self.streams.indices {
            change(&self.streams[place])
            self.streams[place].isDirty = true
        }
    }

    mutating func added(_ seqs: SeqSet, of id: StreamID, bytes: Int) {
        guard let place = self.places[id] else { return }
        self.streams[place].stored.formUnion(seqs)
        self.streams[place].bytes += bytes
        self.streams[place].last = max(self.streams[place].last, seqs.last ?? 0)
        if let first = seqs.first, first < self.streams[place].floor {
            self.streams[place].floor = first
            self.streams[place].weighed = min(first, self.streams[place].weighed)
            self.streams[place].isDirty = true
        }
        self.recall(id)
    }

    /// Registers that records were removed together with their rows, `bytes` payload bytes in total.
    mutating func removed(_ seqs: SeqSet, of id: StreamID, bytes: Int) {
        guard let place = self.places[id] else { return }
        self.streams[place].stored.subtract(seqs)
        self.streams[place].bytes -= bytes
        self.streams[place].floor = self.streams[place].stored.first ?? self.streams[place].last + 1
        self.streams[place].isDirty = true
    }

    /// Registers that the lowest records of a stream were removed. Their rows remain in the file for now.
    mutating func left(_ seqs: SeqSet, of id: StreamID) {
        self.removed(seqs, of: id, bytes: 0)
        self.found(unswept: seqs.count, of: id)
    }

    /// Registers that the file contains `count` more rows of removed records of a stream.
    mutating func found(unswept count: Int, of id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].unswept += count
        self.unswept += count
    }

    /// Subtracts the bytes of the rows below the floor of a stream from its size.
    mutating func weighed(_ bytes: Int, of id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].bytes -= bytes
        self.streams[place].weighed = self.streams[place].floor
    }

    /// Registers that `count` rows below the floor of a stream were deleted.
    mutating func swept(_ count: Int, of id: StreamID) {
        guard let place = self.places[id] else { return }
        let swept = min(count, self.streams[place].unswept)
        self.streams[place].unswept -= swept
        self.unswept -= swept
    }

    /// Forgets a stream for callers, while rows of its removed records are still in the file.
    mutating func letGo(_ id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].isForgotten = true
        self.streams[place].isDirty = true
    }

    /// Makes a stream known to callers again that was forgotten, because it is used again.
    mutating func recall(_ id: StreamID) {
        guard let place = self.places[id], self.streams[place].isForgotten else { return }
        self.streams[place].isForgotten = false
        self.streams[place].isDirty = true
    }

    /// Registers that all records of a stream below the number `floor` were removed earlier and have no rows in this
    /// file.
    mutating func begins(at floor: UInt64, _ id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].floor = floor
        self.streams[place].weighed = floor
        self.streams[place].isDirty = true
    }

    /// Registers that the number `seq` was assigned, whether its record was stored or not.
    mutating func gaveOut(_ seq: UInt64, of id: StreamID) {
        guard let place = self.places[id], self.streams[place].last < seq else { return }
        self.streams[place].last = seq
        self.streams[place].isDirty = true
    }

    mutating func written() { for place in self.streams.indices { self.streams[place].isDirty = false } }

    /// A digest of the numbers of all records, and of the number of rows of removed records. It detects a file or an
    /// index with other records.
    var digest: UInt64 {
        var sum = FNV1a()
        for stream in self.streams {
            sum.add(number: UInt64(bitPattern: stream.number))
            sum.add(number: UInt64(stream.unswept))
            for range in stream.stored.ranges {
                sum.add(number: range.lowerBound)
                sum.add(number: range.upperBound)
            }
        }
        return sum.value
    }

    /// The streams of each trackable, as the publisher is given them when the log is opened.
    var trackables: [TrackableID: SpoolContents.Trackable] {
        var trackables: [TrackableID: SpoolContents.Trackable] = [:]
        for stream in self.streams where !stream.isForgotten {
            let stored = StoredStream(id: stream.id, stored: stream.stored, last: stream.last)
            trackables[stream.trackable, default: .init()].streams.append(stored)
            if !stream.isEnded { trackables[stream.trackable]?.current = stream.id }
        }
        return trackables
    }
}

/// The number of dropped records is stored as one of the log's named values.
extension SpoolBook {
    static let droppedName = "dropped"

    static func dropped(_ value: [UInt8]?) -> Int { Int(String(decoding: value ?? [], as: UTF8.self)) ?? 0 }

    /// Returns the number of dropped records as a named value to be written to the file.
    mutating func droppedValue() -> StoredValue {
        defer { self.nextVersion += 1 }
        return StoredValue(name: Self.droppedName, value: Array("\(self.dropped)".utf8), version: self.nextVersion)
    }
}
