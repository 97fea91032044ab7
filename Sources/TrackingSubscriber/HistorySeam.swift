import TrackingCore

/// Joins the recorded points of a trackable with its live positions, so that each point is delivered once. Remembers
/// the points that were delivered.
struct HistorySeam: Sendable {
    /// A point without a sequence number, identified by its time and place.
    private struct Unnumbered: Hashable {
        let time: UnixTime
        let place: Int64
    }

    private var numbered: [StreamID: SeqSet] = [:]
    private var unnumbered: Set<Unnumbered> = []
    private var newest: UnixTime?
    /// `true` once live positions of the trackable are delivered.
    var isClosed = false

    /// The longest delay after which the recorder still stores a point although points of later times are stored
    /// already.
    private static let disorder = Duration.seconds(60)
    /// The largest number of points without a sequence number that are remembered. Above it, points that are older than
    /// the newest one by more than ``disorder`` are forgotten.
    private static let maximumUnnumbered = 10_000

    /// Notes that a recorded point is delivered.
    ///
    /// - Returns: `false` if the point was delivered before.
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

    /// Returns the time from which the history is read again before the trackable's first live position is delivered;
    /// `nil` if that was done already.
    ///
    /// - Parameters:
    ///   - update: The live position.
    ///   - since: The time from which the program wants recorded points; the returned time is never earlier.
    func start(before update: LocationUpdate, since: UnixTime) -> UnixTime? {
        guard !self.isClosed else { return nil }
        let newest = min(self.newest ?? since, update.location.time)
        return max(since, newest.advanced(by: .zero - Self.disorder))
    }

    /// Returns `true` if the recorder has not stored this live position yet, and perhaps others before it.
    func misses(_ update: LocationUpdate) -> Bool { update.kind == .actual && !self.knows(update.location) }

    /// Returns a live update without the points that were delivered before; `nil` if all of it was delivered before.
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
