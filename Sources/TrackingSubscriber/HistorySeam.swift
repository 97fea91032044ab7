import TrackingCore

/// The seam between the recorded and the live points of a trackable, with the points that were delivered.
struct HistorySeam: Sendable {
    /// A point that has no `seq`.
    private struct Unnumbered: Hashable {
        let time: UnixTime
        let place: Int64
    }

    private var numbered: [StreamID: SeqSet] = [:]
    private var unnumbered: Set<Unnumbered> = []
    private var newest: UnixTime?
    /// `true` once live positions are delivered.
    var isClosed = false

    /// The longest delay with which the recorder stores a point after points of later times.
    private static let disorder = Duration.seconds(60)
    /// The largest number of points without `seq` that are remembered. Beyond it, points older than ``disorder`` are
    /// forgotten.
    private static let maximumUnnumbered = 10_000

    /// A recorded point is told; `false` when it was before.
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

    /// Returns the time from which the history is read again before the first live position is delivered; `nil` once
    /// that was done.
    func start(before update: LocationUpdate, since: UnixTime) -> UnixTime? {
        guard !self.isClosed else { return nil }
        let newest = min(self.newest ?? since, update.location.time)
        return max(since, newest.advanced(by: .zero - Self.disorder))
    }

    /// Returns `true` if the recorder has not stored this position yet, and perhaps others before it.
    func misses(_ update: LocationUpdate) -> Bool { update.kind == .actual && !self.knows(update.location) }

    /// Returns the parts of a live update that were not delivered; `nil` where there are none.
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
