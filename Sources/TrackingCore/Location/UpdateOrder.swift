/// Keeps a reader's view of one trackable in order: by `seq` in each stream, by time where there is no `seq`.
public struct UpdateOrder: Hashable, Sendable {
    /// What an update is to a reader.
    public enum Verdict: Hashable, Sendable {
        /// The newest position.
        case current
        /// Not seen before, but a newer one was: history, never the current position.
        case late
        /// Seen before.
        case duplicate
    }

    /// The most streams that are remembered; the one unheard for longest is forgotten first.
    static let maximumStreams = 8

    private struct Stream: Hashable, Sendable {
        var id: StreamID
        var seen = SeqRanges()
        var highest: UInt64 = 0
    }

    private var streams: [Stream] = []
    private var latestWithoutSeq: UnixTime?

    /// Starts without updates.
    public init() {}

    /// An update arrived.
    public mutating func consider(_ update: LocationUpdate) -> Verdict {
        let location = update.location
        guard let seq = location.seq, let stream = location.stream else { return self.consider(time: location.time) }
        let index = self.index(of: stream)
        guard self.streams[index].seen.insert(seq) else { return .duplicate }
        guard seq > self.streams[index].highest else { return .late }
        self.streams[index].highest = seq
        self.latestWithoutSeq = max(self.latestWithoutSeq ?? location.time, location.time)
        return .current
    }

    /// The points that rode along and were not seen before, in order.
    public mutating func newSkipped(_ update: LocationUpdate) -> [Location] {
        var new: [Location] = []
        for location in update.skipped {
            guard let seq = location.seq, let stream = location.stream else {
                new.append(location)
                continue
            }
            if self.streams[self.index(of: stream)].seen.insert(seq) { new.append(location) }
        }
        return new
    }

    private mutating func consider(time: UnixTime) -> Verdict {
        guard let latest = self.latestWithoutSeq else {
            self.latestWithoutSeq = time
            return .current
        }
        if time == latest { return .duplicate }
        if time < latest { return .late }
        self.latestWithoutSeq = time
        return .current
    }

    /// The stream's place; the newest heard is last.
    private mutating func index(of id: StreamID) -> Int {
        if let index = self.streams.lastIndex(where: { $0.id == id }) {
            if index != self.streams.count - 1 { self.streams.append(self.streams.remove(at: index)) }
        } else {
            if self.streams.count == Self.maximumStreams { self.streams.removeFirst() }
            self.streams.append(Stream(id: id))
        }
        return self.streams.count - 1
    }
}

/// Which numbers of a stream were seen, as ranges; bounded: beyond that, the lowest gap counts as seen.
struct SeqRanges: Hashable, Sendable {
    /// Disjoint, not touching, ascending.
    private(set) var ranges: [ClosedRange<UInt64>] = []

    static let maximumRanges = 64

    /// - Returns: Whether the number was not seen before.
    mutating func insert(_ seq: UInt64) -> Bool {
        let place = self.ranges.lastIndex { $0.lowerBound <= seq }
        if let place, self.ranges[place].contains(seq) { return false }
        if self.ranges.count >= Self.maximumRanges, let first = self.ranges.first, seq < first.lowerBound {
            return false
        }
        let after = place.map { $0 + 1 } ?? 0
        let joinsBefore = place.map { self.ranges[$0].upperBound + 1 == seq } ?? false
        let joinsAfter = after < self.ranges.count && self.ranges[after].lowerBound == seq + 1
        let lower = joinsBefore ? self.ranges[after - 1].lowerBound : seq
        let upper = joinsAfter ? self.ranges[after].upperBound : seq
        self.ranges.replaceSubrange(
            (joinsBefore ? after - 1 : after)..<(joinsAfter ? after + 1 : after), with: [lower...upper])
        if self.ranges.count > Self.maximumRanges {
            self.ranges.replaceSubrange(0..<2, with: [self.ranges[0].lowerBound...self.ranges[1].upperBound])
        }
        return true
    }
}
