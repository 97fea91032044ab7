/// Decides when the estimate of a trackable is worth publishing.
///
/// A change of a status or of the basis is published at once, and a noticeable change of the next arrival after 10 s.
/// Otherwise an estimate is published every 30 s while the trackable moves, and every 60 s while it stands.
struct EstimatePublication: Sendable {
    private static let pause: Duration = .seconds(10)
    private static let movingInterval: Duration = .seconds(30)
    private static let standingInterval: Duration = .seconds(60)
    /// The distance from the last published position, in metres, from which on the trackable counts as moving.
    private static let displacement: Meters = 50
    /// The change of the next arrival that is noticeable: its share of the remaining time, and the least in seconds.
    private static let noticeable = (share: 0.1, least: 15.0)

    /// `true` when the next estimate is to be published in any case, after a change of the journey.
    var isForced = false
    private var last: (estimate: Estimate, position: Coordinate?, time: MonotonicTime)?

    /// The time at which an estimate is due although the trackable stands; `nil` when the last estimate has no arrival
    /// time that could become later.
    var nextDeadline: MonotonicTime? {
        guard let last = self.last, last.estimate.stops.contains(where: { $0.status != .arrived && $0.eta != nil })
        else { return nil }
        return last.time.advanced(by: Self.standingInterval)
    }

    /// Returns `true` when an estimate is to be published.
    func isDue(_ estimate: Estimate, position: Coordinate?, now: MonotonicTime) -> Bool {
        guard let last = self.last, !self.isForced else { return true }
        let before = last.estimate
        guard before.basis == estimate.basis, before.stops.map(\.status) == estimate.stops.map(\.status) else {
            return true
        }
        guard estimate.stops.contains(where: { $0.status != .arrived && $0.eta != nil }) else { return false }
        let elapsed = last.time.duration(to: now)
        if elapsed >= Self.standingInterval { return true }
        if elapsed >= Self.movingInterval, self.hasMoved(position) { return true }
        return elapsed >= Self.pause && Self.differs(before, estimate)
    }

    /// Records a published estimate and the position that it was calculated from.
    mutating func published(_ estimate: Estimate, position: Coordinate?, now: MonotonicTime) {
        self.last = (estimate, position, now)
        self.isForced = false
    }

    private func hasMoved(_ position: Coordinate?) -> Bool {
        guard let position, let last = self.last?.position else { return position != nil }
        return position.distance(to: last) >= Self.displacement
    }

    private static func differs(_ before: Estimate, _ after: Estimate) -> Bool {
        guard let index = after.stops.firstIndex(where: { $0.status != .arrived }), index < before.stops.count,
            let eta = after.stops[index].eta?.seconds
        else { return false }
        guard let old = before.stops[index].eta?.seconds else { return true }
        return abs(eta - old) > max(Self.noticeable.least, Self.noticeable.share * (eta - after.time.seconds))
    }
}
