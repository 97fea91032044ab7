import TrackingCore

/// Decides when positions of one trackable are predicted, because its source has no fix, and predicts them.
struct PositionPrediction: Sendable {
    /// The shortest time without a fix after which the source counts as being without a fix: 3 s.
    static let shortestWait = Duration.seconds(3)
    /// The shortest time between two predictions: 1 s.
    static let shortestInterval = Duration.seconds(1)

    /// `true` if the last published position of the trackable is a predicted one.
    var isPublished = false
    private var reckoning: DeadReckoning?
    private var arrival = MonotonicTime(.zero)
    /// The earliest time of the next prediction, after one was published or postponed.
    private var next: MonotonicTime?

    /// Handles a fix of the source: predictions begin again from it.
    ///
    /// - Parameter wallClock: The time on the device's wall clock; `nil` while it is not set.
    mutating func moved(to fix: Location, now: MonotonicTime, wallClock: UnixTime?) {
        let isLive = LivePosition.fault(of: fix, at: wallClock) == nil && fix.source != .zone
        self.reckoning = isLive ? DeadReckoning(from: fix) : nil
        self.arrival = now
        self.next = nil
    }

    /// Ends the predictions until the next fix.
    mutating func stop() { self.reckoning = nil }

    /// Returns the time of the next prediction; `nil` if none follows.
    ///
    /// - Parameters:
    ///   - longest: The longest time after a fix for which positions are predicted; `nil` predicts none.
    ///   - sensorInterval: The interval that the source was asked for.
    func deadline(longest: Duration?, sensorInterval: Duration) -> MonotonicTime? {
        guard let longest, self.reckoning != nil else { return nil }
        // A source that delivers at its interval is never without a fix.
        let first = self.arrival.advanced(by: max(Self.shortestWait, sensorInterval * 2))
        let deadline = max(first, self.next ?? first)
        return deadline <= self.arrival.advanced(by: longest) ? deadline : nil
    }

    /// Returns the position at the time `now`, and schedules the next prediction.
    ///
    /// - Parameter interval: The interval of the resolution in force.
    mutating func predict(interval: Duration, now: MonotonicTime) -> Location? {
        self.postpone(by: interval, now: now)
        self.isPublished = self.isPublished || self.reckoning != nil
        return self.reckoning?.position(after: self.arrival.duration(to: now))
    }

    /// Schedules the next prediction without making one.
    mutating func postpone(by interval: Duration, now: MonotonicTime) {
        self.next = now.advanced(by: max(Self.shortestInterval, interval))
    }
}
