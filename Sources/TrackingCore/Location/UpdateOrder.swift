/// Orders the updates that a reader receives for one trackable: each point counts once, and an older position never
/// replaces a newer one (`docs/reference/protocol.md`, "Payloads").
///
/// - Within a stream, the point with the higher `seq` is newer; times are ignored.
/// - A stream that was not received before is the publisher's new stream, and its first point is current.
/// - A stream that another stream has replaced becomes current again only with a later time, or when it is known to
///   belong to the owner. Clocks of different devices differ, so time alone is not enough.
/// - A point without `seq` (a prediction, an update from other software) is ordered by `time` against the current
///   position.
public struct UpdateOrder: Hashable, Sendable {
    /// The result of ordering an update's location.
    public enum Verdict: Hashable, Sendable {
        /// The update's location is the newest position of the trackable.
        case current
        /// The update's location was not received before, although a newer one was. It belongs to the history and is
        /// never the current position.
        case late
        /// The update's location was received before.
        case duplicate
    }

    private struct Stream: Hashable, Sendable {
        let id: StreamID
        var seen = SeqRanges()
        /// The highest `seq` of the stream that was the newest position of an update (not a skipped point); `nil`
        /// before the first one.
        var newest: UInt64?
    }

    /// The maximum number of streams remembered for a trackable. The stream without updates for the longest time is
    /// forgotten first.
    static let maximumStreams = 8

    /// The streams, ordered by their last update; the latest is last.
    private var streams: [Stream] = []
    /// The stream of the last current position with a `seq`.
    private var currentStream: StreamID?
    /// The time of the current position.
    private var currentTime: UnixTime?
    /// The time up to which skipped points without `seq` were received. Such points with a later time are new.
    private var seenUntil: UnixTime?

    /// Makes an order that has received no updates.
    public init() {}

    /// Determines whether an update's location is the newest position, a late point or a duplicate. Call
    /// ``newSkipped(_:)`` with the same update afterwards.
    ///
    /// - Parameters:
    ///   - update: The update that has arrived.
    ///   - isOwners: `true` when the update's stream is known to belong to the trackable's owner.
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

    /// Returns the skipped points of an update that were not received before, in order, each with its stream.
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

    /// Moves a stream to the end of the list as the latest one, and returns its new index.
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
