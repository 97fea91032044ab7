import TrackingCore

/// Joins the recorded points of a trackable with its live positions. It remembers the points that were delivered, so
/// that no point is delivered twice.
struct HistorySeam: Sendable {
    /// A point without a sequence number, which is recognised by its time and place.
    private struct Unnumbered: Hashable {
        let time: UnixTime
        let place: Int64
    }

    private var numbered: [StreamID: SeqSet] = [:]
    private var unnumbered: Set<Unnumbered> = []
    private var newest: UnixTime?
    /// `true` once the first live position of the trackable has arrived. Before that position is delivered, the history
    /// is read a second time.
    var isClosed = false

    /// The longest time by which points may be stored out of order: the recorder may store a point although points that
    /// are up to this time later are stored already.
    private static let disorder = Duration.seconds(60)
    /// The number of remembered points without a record number above which old ones are forgotten: 10,000. The
    /// forgotten points are those that are older than the newest point by more than ``disorder``.
    private static let maximumUnnumbered = 10_000

    /// Remembers a recorded point as delivered.
    ///
    /// - Returns: `true` if the point must be delivered; `false` if it was delivered before.
    mutating func admits(_ point: Location) -> Bool {
        guard !self.knows(point) else { return false }
        let newest = max(self.newest ?? point.time, point.time)
        self.newest = newest
        if let stream = point.stream, let seq = point.seq {
            self.numbered[stream, default: SeqSet()].insert(seq)
            return true
        }
        self.unnumbered.insert(Unnumbered(time: point.time, place: point.placeKey))
        if self.unnumbered.count > Self.maximumUnnumbered {
            self.unnumbered = self.unnumbered.filter { newest.since($0.time) <= Self.disorder }
        }
        return true
    }

    /// Returns the time from which the history must be read again before the trackable's first live position is
    /// delivered; `nil` if this was not the first live position. The second reading finds points that the recorder
    /// stored meanwhile or out of order.
    ///
    /// - Parameters:
    ///   - update: The live position.
    ///   - since: The time from which the program wants recorded points. The returned time is never earlier.
    func start(before update: LocationUpdate, since: UnixTime) -> UnixTime? {
        guard !self.isClosed else { return nil }
        let newest = min(self.newest ?? since, update.location.time)
        return max(since, newest.advanced(by: .zero - Self.disorder))
    }

    /// Returns `true` if this live position is measured and is not among the points that were read from the history.
    /// The recorder has then not stored it, and earlier points may be missing in the history as well. Always `false`
    /// for a predicted position, because it is never recorded.
    func misses(_ update: LocationUpdate) -> Bool { update.kind == .actual && !self.knows(update.location) }

    /// Returns a live update without those of its skipped points that were delivered before as recorded points. Returns
    /// `nil` if the update's own position was delivered before.
    func rest(of received: ReceivedUpdate) -> ReceivedUpdate? {
        guard received.update.kind == .predicted || !self.knows(received.update.location) else { return nil }
        var rest = received
        rest.skipped.removeAll { self.knows($0) }
        return rest
    }

    private func knows(_ point: Location) -> Bool {
        if let stream = point.stream, let seq = point.seq { return self.numbered[stream]?.contains(seq) ?? false }
        return self.unnumbered.contains(Unnumbered(time: point.time, place: point.placeKey))
    }
}
