import TrackingCore

/// Where the recorded points of a trackable end and the live ones begin: which points were told.
struct HistorySeam: Sendable {
    /// A point that has no `seq`.
    private struct Unnumbered: Hashable {
        let time: UnixTime
        let place: Int64
    }

    private var numbered: [StreamID: SeqSet] = [:]
    private var unnumbered: Set<Unnumbered> = []
    private var newest: UnixTime?
    /// Whether live positions are told.
    var isClosed = false

    /// Points may become known to the recorder this much later than others of a later time.
    private static let disorder = Duration.seconds(60)
    /// So many points without `seq` are remembered; then those that are older than ``disorder`` are forgotten.
    private static let maximumUnnumbered = 10_000

    /// A recorded point is told; `false` when it was before.
    mutating func told(_ point: Location) -> Bool {
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

    /// From when on to read again before the first live position is told; `nil` once that was done.
    func start(before update: LocationUpdate, since: UnixTime) -> UnixTime? {
        guard !self.isClosed else { return nil }
        let newest = min(self.newest ?? since, update.location.time)
        return max(since, newest.advanced(by: .zero - Self.disorder))
    }

    /// Whether a recorder is still to store this position, and so perhaps others before it.
    func misses(_ update: LocationUpdate) -> Bool { update.kind == .actual && !self.knows(update.location) }

    /// What of a live update was not told; `nil` where that is nothing.
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
