/// Keeps a reader's view of one trackable in order: every point once, and never an older position in place of a newer one
/// (`docs/protocol.md`, "Payloads").
///
/// - Within a stream, `seq` says what is newer; the times play no part.
/// - A stream not met before is the publisher's new one. One that was met, and that another has taken the place of since,
///   takes its place back only with a later time, or where it is known to be the owner's: clocks differ.
/// - What has no `seq`, predictions and other people's updates, is ordered by `time` against the current position.
public struct UpdateOrder: Hashable, Sendable {
    /// What an update's location is to a reader.
    public enum Verdict: Hashable, Sendable {
        /// The newest position.
        case current
        /// Not seen before, but a newer one was: history, never the current position.
        case late
        /// Seen before.
        case duplicate
    }

    private struct Stream: Hashable, Sendable {
        let id: StreamID
        var seen = SeqRanges()
        /// The highest `seq` of an update's own location; `nil` while there was none.
        var newest: UInt64?
    }

    /// The most streams that are remembered; the one unheard for longest is forgotten first.
    static let maximumStreams = 8

    /// In the order in which they were last heard, the latest last.
    private var streams: [Stream] = []
    /// The stream of the last current position that had a `seq`.
    private var currentStream: StreamID?
    /// The time of the current position.
    private var currentTime: UnixTime?
    /// The latest time at or before which a skipped point without `seq` counts as seen.
    private var seenUntil: UnixTime?

    /// Starts without updates.
    public init() {}

    /// An update arrived. Ask ``newSkipped(_:)`` about the same update afterwards.
    ///
    /// - Parameter isOwners: Whether its stream is known to be that of the publisher who owns the trackable.
    public mutating func consider(_ update: LocationUpdate, isOwners: Bool = false) -> Verdict {
        let time = update.location.time
        let verdict: Verdict
        if let seq = update.location.seq, let stream = update.location.stream {
            verdict = self.consider(seq, of: stream, at: time, isOwners: isOwners)
            if verdict == .current { self.currentStream = stream }
        } else {
            verdict = self.consider(time)
        }
        if verdict == .current {
            self.seenUntil = [self.seenUntil, self.currentTime].compactMap(\.self).max()
            self.currentTime = time
        }
        return verdict
    }

    /// The points that ride along with an update and were not seen before, in order, each with its stream.
    public mutating func newSkipped(_ update: LocationUpdate) -> [Location] {
        update.skipped.compactMap { point in
            var point = point
            point.stream = point.stream ?? update.location.stream
            return self.isNew(point) ? point : nil
        }
    }

    private mutating func consider(
        _ seq: UInt64, of stream: StreamID, at time: UnixTime, isOwners: Bool
    ) -> Verdict {
        let index = self.index(of: stream)
        guard self.streams[index].seen.insert(seq) else { return .duplicate }
        let newest = self.streams[index].newest
        if let newest, seq < newest { return .late }
        self.streams[index].newest = seq
        guard newest != nil, !isOwners, stream != self.currentStream, let currentTime = self.currentTime else {
            return .current
        }
        return time > currentTime ? .current : .late
    }

    private func consider(_ time: UnixTime) -> Verdict {
        guard let currentTime = self.currentTime else { return .current }
        return time > currentTime ? .current : time < currentTime ? .late : .duplicate
    }

    private mutating func isNew(_ point: Location) -> Bool {
        if let seq = point.seq, let stream = point.stream {
            return self.streams[self.index(of: stream)].seen.insert(seq)
        }
        if let seenUntil = self.seenUntil, point.time <= seenUntil { return false }
        self.seenUntil = point.time
        return true
    }

    /// The stream's place, which is the last from now on.
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
