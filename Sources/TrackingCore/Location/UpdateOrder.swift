/// Decides for each update of a trackable if its position is newer than the current one. Each point counts once, and a
/// position never replaces a later one of its stream (`docs/reference/protocol.md`, "Payloads").
///
/// - Each point has a number (`seq`) in its stream, one life of a device's log. Within a stream, the higher number is
///   newer; times are ignored.
/// - The first update of a stream that was not seen before becomes current, whatever its time.
/// - Updates may return from the current stream to an earlier one. A point of the earlier stream is current if its time
///   is later than the current one. It is also current if the earlier stream belongs to the owner, the publisher
///   entitled to publish the trackable.
/// - A point without `seq` is compared with the current position by time.
public struct UpdateOrder: Hashable, Sendable {
    /// The decision about the position of an update: current, late or duplicate.
    public enum Verdict: Hashable, Sendable {
        /// The update's position is the newest position of the trackable, and becomes the current one.
        case current
        /// The update's position is new, but a newer one was received before. It belongs to the history, and never
        /// becomes the current position.
        case late
        /// The update's position was already received before.
        case duplicate
    }

    private struct Stream: Hashable, Sendable {
        let id: StreamID
        var seen = SeqRanges()
        /// The highest record number (`seq`) of the stream that an update contained as its newest position. Skipped
        /// points, which had no update of their own, do not count. `nil` before the first such number.
        var newest: UInt64?
    }

    /// The maximum number of streams remembered for a trackable. When there are more, the stream without updates for
    /// the longest time is forgotten.
    static let maximumStreams = 8

    /// The streams of the trackable that are remembered, in the order of their last update; the latest is last.
    private var streams: [Stream] = []
    /// The stream of the last position that became current and had a record number (`seq`).
    private var currentStream: StreamID?
    /// The time of the current position of the trackable; `nil` before the first update.
    private var currentTime: UnixTime?
    /// The time up to which skipped points without a record number (`seq`) count as received. Such a point is new only
    /// if its time is later. `nil` while no such limit is known.
    private var seenUntil: UnixTime?

    /// Makes the state that decides which update of a trackable is its newest one. No update was received yet.
    public init() {}

    /// Decides if an update's position is the newest position of the trackable, a late one or a duplicate. Call
    /// ``newSkipped(_:)`` with the same update afterwards.
    ///
    /// - Parameters:
    ///   - update: The update that has arrived.
    ///   - isOwners: `true` when the stream of the update is known to belong to the trackable's owner, the publisher
    ///     entitled to publish it.
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

    /// Returns those skipped points of an update that were not received before, in order. Skipped points are earlier
    /// points that had no update of their own. Each returned point contains its stream, which is that of the update
    /// unless the point names another one.
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

    /// Moves a stream to the end of the list of remembered streams, because the latest update belongs to it. Adds the
    /// stream if it is not in the list. Returns its index in the list.
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
