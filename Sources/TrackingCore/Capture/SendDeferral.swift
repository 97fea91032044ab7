/// Defers sending until the trackable has moved a certain distance, so that a modem can sleep meanwhile (`--defer`).
/// Recording is not affected.
///
/// Begins and ends are not deferred: call ``release()`` when a trip starts or ends, at a pause, before stopping, and
/// when the user requests sending.
public struct SendDeferral: Hashable, Sendable {
    /// The maximum time for which a point is deferred.
    public static let maximumWait: Duration = .seconds(600)

    /// The distance in metres (> 0) that the trackable must move before deferred points are sent.
    public let distance: Meters
    private var last: Coordinate?
    private var travelled = 0.0
    private var heldSince: MonotonicTime?

    /// Makes a value without deferred points.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the distance is not finite or not above zero.
    public init(distance: Meters) throws(TrackingError) {
        guard distance.value > 0, distance.value.isFinite else {
            throw TrackingError(
                .invalidConfiguration, "the distance to defer by must be above 0 m, not \(distance.value)")
        }
        self.distance = distance
    }

    /// `true` while points are deferred.
    public var isHolding: Bool { self.heldSince != nil }

    /// The time at which deferred points are sent at the latest; `nil` while none are deferred.
    public var nextDeadline: MonotonicTime? { self.heldSince?.advanced(by: Self.maximumWait) }

    /// Processes a point that was recorded. The first point is sent at once; later points are deferred until the
    /// distance or ``maximumWait`` is reached.
    ///
    /// - Returns: `true` when all points recorded so far are to be sent now.
    public mutating func recorded(_ fix: Location, now: MonotonicTime) -> Bool {
        defer { self.last = fix.coordinate }
        guard let last = self.last else { return true }
        self.travelled += last.distance(to: fix.coordinate).value
        self.heldSince = self.heldSince ?? now
        guard self.travelled >= self.distance.value else { return false }
        self.release()
        return true
    }

    /// Handles the expiry of ``nextDeadline``.
    ///
    /// - Returns: `true` when the deferred points are sent now.
    public mutating func timerFired(now: MonotonicTime) -> Bool {
        guard let deadline = self.nextDeadline, now >= deadline else { return false }
        self.release()
        return true
    }

    /// Ends the deferral, because all points recorded so far are sent now. The distance for the next deferral is
    /// measured from the last recorded point.
    public mutating func release() {
        self.travelled = 0
        self.heldSince = nil
    }
}
