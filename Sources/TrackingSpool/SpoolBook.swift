import TrackingCore

/// The index of a device's log that is held in memory: the record numbers of each stream, and counts such as the number
/// of dropped records. It answers most questions about the log without a read from the file.
struct SpoolBook {
    /// The index of one stream: the numbers of its records, and the state of the stream.
    struct Stream {
        let number: Int64
        let id: StreamID
        let trackable: TrackableID
        /// The function that computes the checksums of the rows of this stream's records in the log's file.
        let sum: RecordChecksum
        var stored = SeqSet()
        var last: UInt64 = 0
        /// The lowest record number of the stream that may still be in the log. All records with lower numbers were
        /// removed, but their rows may still be in the file.
        var floor: UInt64 = 1
        /// The number of rows of removed records below ``floor`` that are not deleted yet.
        var unswept = 0
        var isEnded = false
        /// `true` if the stream is hidden from callers, as if it were removed. Its row in the file is deleted once no
        /// rows of its removed records are left.
        var isForgotten = false
        /// The number of payload bytes of the stream's rows from the number ``weighed`` on. These include rows of
        /// removed records, if ``weighed`` is lower than ``floor``.
        var bytes = 0
        /// The record number from which on ``bytes`` counts: the size includes the rows of this stream with this number
        /// or a higher one.
        var weighed: UInt64 = 1
        /// `true` if the stream has changed since the stream's own row was last written to the file.
        var isDirty = true

        init(number: Int64, id: StreamID, trackable: TrackableID, isEnded: Bool = false) {
            self.number = number
            self.id = id
            self.trackable = trackable
            self.sum = RecordChecksum(id)
            self.isEnded = isEnded
        }
    }

    /// The streams of all trackables in the log, also those that are hidden from callers, oldest first.
    private(set) var streams: [Stream] = []
    private var places: [StreamID: Int] = [:]
    /// The place (row id) in the table of records that the next appended record gets.
    var nextPlace: Int64 = 1
    /// The number that names the next new stream in the rows of the log's tables.
    var nextStream: Int64 = 1
    /// The version number that the log gives to the next named value that the publisher stores.
    var nextVersion: Int64 = 1
    /// The number of stored marks of each trackable. The marks of a trackable are counted when it gets a new mark;
    /// before that, the trackable has no entry. A mark is computed from an ingested record, so that a repetition of the
    /// record is recognized.
    var marks: [TrackableID: Int] = [:]
    /// The number of quarantined records in the log, for all trackables together.
    var quarantined = 0
    /// The number of records that were dropped since the log was created because the log exceeded its limits.
    var dropped = 0

    var count: Int { self.streams.reduce(0) { $0 + $1.stored.count } }
    /// The number of payload bytes of all streams of the log. It may include bytes of removed records, see
    /// ``Stream/bytes``.
    var bytes: Int { self.streams.reduce(0) { $0 + $1.bytes } }
    /// The number of rows in the file whose records were removed, for all streams together. They must be deleted later.
    private(set) var unswept = 0

    subscript(id: StreamID) -> Stream? { self.places[id].map { self.streams[$0] } }

    func stream(number: Int64) -> Stream? { self.streams.first { $0.number == number } }

    mutating func insert(_ stream: Stream) {
        self.places[stream.id] = self.streams.count
        self.streams.append(stream)
        self.unswept += stream.unswept
        self.nextStream = max(self.nextStream, stream.number + 1)
    }

    /// Adds a new stream of a trackable, and ends the trackable's previous stream. If the added stream is itself an
    /// ended one (`isEnded`), the previous stream goes on.
    mutating func begin(_ id: StreamID, of trackable: TrackableID, isEnded: Bool = false) -> Stream {
        if !isEnded { self.end(trackable) }
        let stream = Stream(number: self.nextStream, id: id, trackable: trackable, isEnded: isEnded)
        self.insert(stream)
        return stream
    }

    /// Ends all streams of one trackable. Other streams are not changed, so that their rows need not be written again.
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

    /// Applies a change to every stream, and flags every stream as changed, so that the next transaction writes the
    /// rows of all streams to the file.
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

    /// Removes records of a stream from the index, after the records and their rows were removed from the log's file.
    ///
    /// - Parameter bytes: The number of payload bytes of these records.
    mutating func removed(_ seqs: SeqSet, of id: StreamID, bytes: Int) {
        guard let place = self.places[id] else { return }
        self.streams[place].stored.subtract(seqs)
        self.streams[place].bytes -= bytes
        self.streams[place].floor = self.streams[place].stored.first ?? self.streams[place].last + 1
        self.streams[place].isDirty = true
    }

    /// Removes the lowest records of a stream from the index. Their rows are still in the file, and are counted as rows
    /// that must be deleted later.
    mutating func left(_ seqs: SeqSet, of id: StreamID) {
        self.removed(seqs, of: id, bytes: 0)
        self.found(unswept: seqs.count, of: id)
    }

    /// Adds `count` to the number of rows in the file that belong to removed records of a stream and must be deleted
    /// later.
    mutating func found(unswept count: Int, of id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].unswept += count
        self.unswept += count
    }

    /// Subtracts the payload bytes of removed records from the size of a stream.
    ///
    /// - Parameter bytes: The number of payload bytes of all rows below the stream's ``Stream/floor`` that the size
    ///   still included.
    mutating func weighed(_ bytes: Int, of id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].bytes -= bytes
        self.streams[place].weighed = self.streams[place].floor
    }

    /// Subtracts `count` from the number of rows of removed records of a stream, after these rows were deleted from the
    /// file. The number does not fall below 0.
    mutating func swept(_ count: Int, of id: StreamID) {
        guard let place = self.places[id] else { return }
        let swept = min(count, self.streams[place].unswept)
        self.streams[place].unswept -= swept
        self.unswept -= swept
    }

    /// Hides a stream from the log's callers, as if it were removed. Rows of its removed records may still be in the
    /// file.
    mutating func letGo(_ id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].isForgotten = true
        self.streams[place].isDirty = true
    }

    /// Makes a hidden stream visible to callers again, because a record was added to it. Does nothing for a stream that
    /// is not hidden.
    mutating func recall(_ id: StreamID) {
        guard let place = self.places[id], self.streams[place].isForgotten else { return }
        self.streams[place].isForgotten = false
        self.streams[place].isDirty = true
    }

    /// Makes `floor` the lowest record number of a stream in this file. All records with lower numbers were removed
    /// before, and have no rows.
    mutating func begins(at floor: UInt64, _ id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].floor = floor
        self.streams[place].weighed = floor
        self.streams[place].isDirty = true
    }

    /// Raises the last assigned record number of a stream to `seq`, even if the record with this number was not stored.
    /// The number `seq` is then not assigned again.
    mutating func gaveOut(_ seq: UInt64, of id: StreamID) {
        guard let place = self.places[id], self.streams[place].last < seq else { return }
        self.streams[place].last = seq
        self.streams[place].isDirty = true
    }

    mutating func written() { for place in self.streams.indices { self.streams[place].isDirty = false } }

    /// A digest of the numbers of all records in the log, and of the number of rows of removed records in each stream.
    /// If the digest differs from the one at the last closing, the log's index is damaged.
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

    /// The streams of each trackable that are not hidden, with the numbers of their records. The publisher gets them
    /// when it opens the log.
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

/// The number of dropped records, which the log stores as one of its named values.
extension SpoolBook {
    static let droppedName = "dropped"

    static func dropped(_ value: [UInt8]?) -> Int { Int(String(decoding: value ?? [], as: UTF8.self)) ?? 0 }

    /// Returns the number of dropped records as a named value, with a new version number, to be written to the log's
    /// file.
    mutating func droppedValue() -> StoredValue {
        defer { self.nextVersion += 1 }
        return StoredValue(name: Self.droppedName, value: Array("\(self.dropped)".utf8), version: self.nextVersion)
    }
}
