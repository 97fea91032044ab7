import TrackingCore

/// Which records of one trackable were told, in bounded memory: numbers that follow each other take one place together, and where
/// there are more places than that, the lowest numbers of the stream of longest ago are forgotten.
struct ToldNames: Sendable {
    /// The one of which something was told last is last.
    private var streams: [(id: StreamID, seqs: SeqSet)] = []

    /// The most places.
    static let maximumRanges = 512

    /// Whether a record was not told before, as far as that is remembered; it counts as told then.
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
