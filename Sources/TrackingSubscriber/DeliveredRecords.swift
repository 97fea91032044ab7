import TrackingCore

/// The names of the records of one trackable that were delivered, in bounded memory.
///
/// Consecutive numbers of a stream take one place together. Above ``maximumRanges`` places, the lowest numbers of the
/// stream that was used least recently are forgotten.
struct DeliveredRecords: Sendable {
    /// The streams, the most recently used one last.
    private var streams: [(id: StreamID, seqs: SeqSet)] = []

    /// The highest number of places.
    static let maximumRanges = 512

    /// Adds a record.
    ///
    /// - Returns: `true` if it was not delivered before, as far as that is remembered.
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
