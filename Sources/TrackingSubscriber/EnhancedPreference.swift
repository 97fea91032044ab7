import TrackingCore

/// Decides which updates of one trackable are delivered to a program that prefers positions on the road.
///
/// A publisher publishes an update for a fix, and an enhancer then publishes the enhanced update of the same fix. It has
/// the same record number (`seq`) and stream, so both are recognised as one position.
///
/// | phase | published update | enhanced update |
/// |---|---|---|
/// | `published` | It is delivered at once. | It is delivered if its fix is the newest one, or a later one. The phase becomes `enhanced`. |
/// | `enhanced` | It is withheld. At ``deadline(interval:)``, the newest withheld one is delivered, and the phase becomes `published`. | It is delivered if its fix is later than that of the last delivered update. |
///
/// So no position is older than the one delivered before it, and none is later than ``longestWait``.
struct EnhancedPreference: Sendable {
    /// The kind of the updates that are delivered at present.
    private enum Phase: Hashable, Sendable {
        /// No enhancer is at work on this trackable, as far as known: updates of the publisher are delivered.
        case published
        /// Enhanced updates are delivered. The last one arrived at the time `last`.
        case enhanced(last: MonotonicTime)
    }

    /// An update of the publisher that waits for the enhanced update of its fix, and the time of its arrival.
    private struct Withheld: Sendable {
        var update: ReceivedUpdate
        var arrival: MonotonicTime
    }

    /// The shortest time without an enhanced update after which the updates of the publisher are delivered again: 2 s.
    static let shortestSilence = Duration.seconds(2)
    /// The shortest time for which an update of the publisher is withheld: 1 s. An enhancer answers within this time.
    static let shortestWait = Duration.seconds(1)
    /// The longest time for which an update of the publisher is withheld: 10 s.
    static let longestWait = Duration.seconds(10)
    /// The largest number of withheld updates. With a further one, the updates of the publisher are delivered again.
    static let maximumWithheld = 32

    private var phase = Phase.published
    /// The fix of the newest update of the publisher, whether it was delivered or not; `nil` before the first one.
    private var newest: Fix?
    /// The additional members of the newest update of the publisher. An enhanced update has none.
    private var newestExtra: [UInt8]?
    private var delivered: (fix: Fix, isEnhanced: Bool)?
    private var withheld: [Withheld] = []
    /// Skipped points of updates of the publisher that were not delivered, for the next delivered update.
    private var points: [Location] = []

    /// Returns the time at which ``timerFired(interval:now:)`` delivers the newest withheld update of the publisher;
    /// `nil` while no update is withheld.
    ///
    /// - Parameter interval: The interval of the resolution in force; `nil` while it is unknown.
    func deadline(interval: Duration?) -> MonotonicTime? {
        guard case .enhanced(let last) = self.phase, let oldest = self.withheld.first else { return nil }
        let silence = max((interval ?? .zero) * 2, Self.shortestSilence)
        return min(
            max(last.advanced(by: silence), oldest.arrival.advanced(by: Self.shortestWait)),
            oldest.arrival.advanced(by: Self.longestWait))
    }

    /// Handles an update of the trackable's publisher.
    ///
    /// - Returns: The update to deliver now; `nil` if this one is withheld, or if the enhanced update of its fix was
    ///   delivered already.
    mutating func published(_ update: ReceivedUpdate, now: MonotonicTime) -> ReceivedUpdate? {
        guard !update.isLate else { return update }
        let fix = Fix(update.update.location)
        guard update.update.kind == .actual else {
            // No enhanced update follows, and the position never becomes a skipped point.
            self.delivered = (fix, isEnhanced: false)
            return update
        }
        (self.newest, self.newestExtra) = (fix, update.update.location.extra)
        guard case .enhanced = self.phase else {
            self.delivered = (fix, isEnhanced: false)
            return update
        }
        if let delivered = self.delivered, delivered.isEnhanced, fix.isSameOrEarlier(than: delivered.fix) {
            self.points = (self.points + update.skipped).suffix(LocationUpdate.maximumSkipped)
            return nil
        }
        self.withheld.append(Withheld(update: update, arrival: now))
        return self.withheld.count > Self.maximumWithheld ? self.deliverWithheld() : nil
    }

    /// Handles an enhanced update of the trackable.
    ///
    /// The returned update has the additional members of the fix (``/TrackingCore/Location/extra``), which an enhancer
    /// does not publish. An update that replaces the delivered update of the same fix is returned without the points of
    /// the way to it, because a map marker has already moved along this way.
    ///
    /// - Returns: The update to deliver now; `nil` if it would go back, or if its fix is unknown.
    mutating func enhanced(_ update: LocationUpdate, isRetained: Bool, now: MonotonicTime) -> ReceivedUpdate? {
        let fix = Fix(update.location)
        guard let newest = self.newest, fix.order(after: newest) != .unrelated, let delivered = self.delivered else {
            return nil
        }
        var update = update
        switch fix.order(after: delivered.fix) {
        case .earlier: return nil
        case .same where delivered.isEnhanced: return nil
        case .same: update.intermediate = []
        case .later, .unrelated: break
        }
        if update.location.extra == nil { update.location.extra = self.extra(of: fix) }
        self.phase = .enhanced(last: now)
        self.delivered = (fix, isEnhanced: true)
        return ReceivedUpdate(
            update: update, skipped: self.takePoints(through: fix), isLate: false, isRetained: isRetained)
    }

    /// Delivers the newest withheld update of the publisher if ``deadline(interval:)`` has passed. Updates of the
    /// publisher are then delivered at once, until an enhanced update has caught up with them.
    ///
    /// - Returns: The update to deliver now; `nil` if the deadline has not passed.
    mutating func timerFired(interval: Duration?, now: MonotonicTime) -> ReceivedUpdate? {
        guard let deadline = self.deadline(interval: interval), deadline <= now else { return nil }
        return self.deliverWithheld()
    }

    /// Returns the newest withheld update of the publisher, with the older ones as its skipped points; `nil` if none is
    /// withheld. From now on, updates of the publisher are delivered at once.
    mutating func deliverWithheld() -> ReceivedUpdate? {
        self.phase = .published
        guard let last = self.withheld.last?.update else { return nil }
        let fix = Fix(last.update.location)
        self.delivered = (fix, isEnhanced: false)
        var update = last
        update.skipped = self.takePoints(through: fix)
        return update
    }

    /// Returns the additional members of a fix in the update of the publisher; `nil` if it had none or is not known any
    /// more.
    private func extra(of fix: Fix) -> [UInt8]? {
        if let newest = self.newest, fix.order(after: newest) == .same { return self.newestExtra }
        return self.withheld.map(\.update.update.location).first { fix.order(after: Fix($0)) == .same }?.extra
    }

    /// Takes the withheld updates up to this fix, and returns their points except this fix: those are delivered as
    /// skipped points.
    private mutating func takePoints(through fix: Fix) -> [Location] {
        let count = (self.withheld.lastIndex { Fix($0.update.update.location).isSameOrEarlier(than: fix) } ?? -1) + 1
        var points = self.points
        for update in self.withheld.prefix(count).map(\.update) {
            points += update.skipped
            if Fix(update.update.location).order(after: fix) != .same { points.append(update.update.location) }
        }
        self.withheld.removeFirst(count)
        self.points = []
        return points
    }
}

/// The names by which a published update and the enhanced update of the same fix are recognised.
private struct Fix: Hashable, Sendable {
    /// The order of two fixes of one trackable.
    enum Order { case earlier, same, later, unrelated }

    private let stream: StreamID?
    private let seq: UInt64?
    private let time: UnixTime

    init(_ location: Location) { (self.stream, self.seq, self.time) = (location.stream, location.seq, location.time) }

    /// Returns the order of this fix relative to another one: by number within a stream, and by time without numbers.
    /// Fixes of two streams are unrelated.
    func order(after other: Fix) -> Order {
        guard let seq = self.seq, let stream = self.stream, let otherSeq = other.seq, let otherStream = other.stream
        else { return self.time < other.time ? .earlier : self.time == other.time ? .same : .later }
        guard stream == otherStream else { return .unrelated }
        return seq < otherSeq ? .earlier : seq == otherSeq ? .same : .later
    }

    func isSameOrEarlier(than other: Fix) -> Bool {
        switch self.order(after: other) {
        case .earlier, .same: true
        case .later, .unrelated: false
        }
    }
}
