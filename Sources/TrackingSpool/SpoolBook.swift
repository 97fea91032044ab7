import TrackingCore

/// The numbers of the records and rows in a log, in memory, so that most questions need no read from the file.
struct SpoolBook {
    /// One stream.
    struct Stream {
        let number: Int64
        let id: StreamID
        let trackable: TrackableID
        /// The checksum function for the rows of the stream's records.
        let sum: RecordChecksum
        var stored = SeqSet()
        var last: UInt64 = 0
        /// Everything below was removed: what rows there still are of it count for nothing.
        var floor: UInt64 = 1
        /// The number of rows below the floor that are not deleted yet.
        var unswept = 0
        var isEnded = false
        /// It goes with the last of its rows.
        var isForgotten = false
        /// The bytes of the payloads: of the records, and of the rows from ``weighed`` up to the floor.
        var bytes = 0
        /// Below it no row counts in ``bytes``.
        var weighed: UInt64 = 1
        /// `true` if the row in the file lacks a change.
        var isDirty = true

        init(number: Int64, id: StreamID, trackable: TrackableID, isEnded: Bool = false) {
            self.number = number
            self.id = id
            self.trackable = trackable
            self.sum = RecordChecksum(id)
            self.isEnded = isEnded
        }
    }

    /// Oldest first.
    private(set) var streams: [Stream] = []
    private var places: [StreamID: Int] = [:]
    /// The place of the next record.
    var nextPlace: Int64 = 1
    /// The number of the next stream.
    var nextStream: Int64 = 1
    /// The version of the next small value.
    var nextVersion: Int64 = 1
    /// The number of marks of each trackable that was given marks since the log was opened.
    var marks: [TrackableID: Int] = [:]
    /// The number of quarantined records.
    var quarantined = 0
    /// The number of records that were dropped to comply with the limits, in the life of the log.
    var dropped = 0

    var count: Int { self.streams.reduce(0) { $0 + $1.stored.count } }
    /// See ``Stream/bytes``.
    var bytes: Int { self.streams.reduce(0) { $0 + $1.bytes } }
    /// The number of rows of removed records that are not deleted yet.
    private(set) var unswept = 0

    subscript(id: StreamID) -> Stream? { self.places[id].map { self.streams[$0] } }

    func stream(number: Int64) -> Stream? { self.streams.first { $0.number == number } }

    mutating func insert(_ stream: Stream) {
        self.places[stream.id] = self.streams.count
        self.streams.append(stream)
        self.unswept += stream.unswept
        self.nextStream = max(self.nextStream, stream.number + 1)
    }

    /// Begins a stream; the one that its trackable had ends, unless the new one is an old one that came back.
    mutating func begin(_ id: StreamID, of trackable: TrackableID, isEnded: Bool = false) -> Stream {
        if !isEnded { self.end(trackable) }
        let stream = Stream(number: self.nextStream, id: id, trackable: trackable, isEnded: isEnded)
        self.insert(stream)
        return stream
    }

    /// No stream of this trackable goes on. Only their rows are behind then: a log of thousands of trackables would
    /// write all of them for each that comes.
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

    /// Changes every stream, and notes that the rows are behind.
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

    /// Records and their rows are gone, and so many bytes with them.
    mutating func removed(_ seqs: SeqSet, of id: StreamID, bytes: Int) {
        guard let place = self.places[id] else { return }
        self.streams[place].stored.subtract(seqs)
        self.streams[place].bytes -= bytes
        self.streams[place].floor = self.streams[place].stored.first ?? self.streams[place].last + 1
        self.streams[place].isDirty = true
    }

    /// Records that are the lowest of their stream are gone; their rows stay for now.
    mutating func left(_ seqs: SeqSet, of id: StreamID) {
        self.removed(seqs, of: id, bytes: 0)
        self.found(unswept: seqs.count, of: id)
    }

    /// So many rows of removed records were found.
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

    /// So many rows below the floor of a stream were deleted.
    mutating func swept(_ count: Int, of id: StreamID) {
        guard let place = self.places[id] else { return }
        let swept = min(count, self.streams[place].unswept)
        self.streams[place].unswept -= swept
        self.unswept -= swept
    }

    /// Nobody asks for a stream any more, whose rows are still there.
    mutating func letGo(_ id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].isForgotten = true
        self.streams[place].isDirty = true
    }

    /// A stream that was forgotten is asked for again.
    mutating func recall(_ id: StreamID) {
        guard let place = self.places[id], self.streams[place].isForgotten else { return }
        self.streams[place].isForgotten = false
        self.streams[place].isDirty = true
    }

    /// Everything of a stream below a number was removed before, and has no rows here.
    mutating func begins(at floor: UInt64, _ id: StreamID) {
        guard let place = self.places[id] else { return }
        self.streams[place].floor = floor
        self.streams[place].weighed = floor
        self.streams[place].isDirty = true
    }

    /// A number was given out, whatever became of its record.
    mutating func gaveOut(_ seq: UInt64, of id: StreamID) {
        guard let place = self.places[id], self.streams[place].last < seq else { return }
        self.streams[place].last = seq
        self.streams[place].isDirty = true
    }

    mutating func written() { for place in self.streams.indices { self.streams[place].isDirty = false } }

    /// Of which records there are, and how many rows of removed ones.
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

    /// As the publisher sees it.
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

    /// The value for the file.
    mutating func droppedValue() -> StoredValue {
        defer { self.nextVersion += 1 }
        return StoredValue(name: Self.droppedName, value: Array("\(self.dropped)".utf8), version: self.nextVersion)
    }
}
