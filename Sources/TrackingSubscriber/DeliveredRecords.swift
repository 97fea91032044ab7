import TrackingCore

/// The names (stream and number) of the events and ended trips of one trackable that were delivered. A subscriber
/// looks up each record here, so that it delivers no record twice.
///
/// The memory is bounded. Consecutive numbers of a stream form one range. Above ``maximumRanges`` ranges, the lowest
/// range of the least recently used stream is forgotten. Its records would be delivered again if they arrived again.
struct DeliveredRecords: Sendable {
    /// The numbers of the delivered records of each stream. The stream of which a new record was delivered last is at
    /// the end.
    private var streams: [(id: StreamID, seqs: SeqSet)] = []

    /// The largest number of ranges of consecutive record numbers that are remembered for one trackable, over all its
    /// streams.
    static let maximumRanges = 512

    /// Remembers a record as delivered.
    ///
    /// - Returns: `true` if the record is new; `false` if it is remembered as delivered before.
    mutating func isNews(_ name: RecordName) -> Bool {
        let place = self.streams.lastIndex { $0.id == name.stream }
        guard place.map({ self.streams[$0].seqs.contains(name.seq) }) != true else { return false }
        var stream = place.map { self.streams.remove(at: $0) } ?? (id: name.stream, seqs: SeqSet())
        stream.seqs.insert(name.seq)
        self.streams.append(stream)
        if self.streams.reduce(0, { $0 + $1.seqs.ranges.count }) > Self.maximumRanges { self.forget() }
        return true
    }

    private mutating func forget() {
        guard let lowest = self.streams.first?.seqs.ranges.first else { return }
        self.streams[0].seqs.remove(lowest)
        if self.streams[0].seqs.isEmpty { self.streams.removeFirst() }
    }
}
