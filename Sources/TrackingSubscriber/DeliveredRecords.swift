import TrackingCore

/// The names (stream and sequence number) of the events and ended trips of one trackable that were delivered, in
/// bounded memory. It prevents that a record is delivered twice.
///
/// Consecutive numbers of a stream form one range. Above ``maximumRanges`` ranges, the lowest numbers of the least
/// recently used stream are forgotten.
struct DeliveredRecords: Sendable {
    /// The delivered numbers of each stream, the most recently used stream last.
    private var streams: [(id: StreamID, seqs: SeqSet)] = []

    /// The largest number of ranges of consecutive numbers that are remembered for one trackable.
    static let maximumRanges = 512

    /// Notes that a record is delivered.
    ///
    /// - Returns: `true` if the record was not delivered before, as far as that is remembered.
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
