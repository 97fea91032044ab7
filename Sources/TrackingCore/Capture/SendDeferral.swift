/// Delays the sending of recorded points until the trackable has moved a certain distance, but at most for ten minutes,
/// so that a modem can sleep meanwhile (`--defer`). Recording is not delayed.
///
/// The begin or end of a trip and other important moments must not be delayed. So call ``release()`` when a trip starts
/// or ends, at a pause, before the program stops, and when the user requests sending.
public struct SendDeferral: Hashable, Sendable {
    /// The maximum time for which the sending of a point is delayed: 10 minutes.
    public static let maximumWait: Duration = .seconds(600)

    /// The distance in metres (> 0), measured along the recorded points, that the trackable must move before the
    /// delayed points are sent.
    public let distance: Meters
    private var last: Coordinate?
    private var travelled = 0.0
    private var heldSince: MonotonicTime?

    /// Makes a deferral, which delays the sending of recorded points until the trackable has moved `distance`. It
    /// delays no points yet.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the distance is not finite or not above zero.
    public init(distance: Meters) throws(TrackingError) {
        guard distance.value > 0, distance.value.isFinite else {
            throw TrackingError(
                .invalidConfiguration,
                "the distance for which sending is deferred must be above 0 m, not \(distance.value)")
        }
        self.distance = distance
    }

    /// `true` while recorded points are delayed, that is, not sent yet.
    public var isHolding: Bool { self.heldSince != nil }

    /// The latest time at which the caller must send the recorded points that are delayed now: ten minutes after the
    /// delay began. `nil` while no points are delayed.
    public var nextDeadline: MonotonicTime? { self.heldSince?.advanced(by: Self.maximumWait) }

    /// Processes a recorded point, and decides if all points recorded so far are sent now. The first point is sent at
    /// once. Later points are delayed until the trackable has moved ``distance``.
    ///
    /// - Returns: `true` when all points recorded so far, this one included, are to be sent now.
    public mutating func recorded(_ fix: Location, now: MonotonicTime) -> Bool {
        defer { self.last = fix.coordinate }
        guard let last = self.last else { return true }
        self.travelled += last.distance(to: fix.coordinate).value
        self.heldSince = self.heldSince ?? now
        guard self.travelled >= self.distance.value else { return false }
        self.release()
        return true
    }

    /// Ends the delay of recorded points if ``nextDeadline`` has passed. The caller calls this at that time.
    ///
    /// - Returns: `true` when the caller must send all recorded points now; `false` when no point is delayed, or the
    ///   deadline has not passed.
    public mutating func timerFired(now: MonotonicTime) -> Bool {
        guard let deadline = self.nextDeadline, now >= deadline else { return false }
        self.release()
        return true
    }

    /// Ends the present delay of points, because all points recorded so far are sent now. The next delay measures its
    /// distance from here on.
    public mutating func release() {
        self.travelled = 0
        self.heldSince = nil
    }
}
