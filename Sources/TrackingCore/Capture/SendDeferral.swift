/// Holds sending back until the trackable has gone some way, so that a modem sleeps meanwhile (`--defer`). Everything is
/// recorded all the same.
///
/// What begins or ends something is told at once: the caller says ``release()`` at the start and end of a trip, at a pause,
/// before stopping, and when asked to send now.
public struct SendDeferral: Hashable, Sendable {
    /// The longest that a point is held back.
    public static let maximumWait: Duration = .seconds(600)

    /// The way that is waited for, > 0 m.
    public let distance: Meters
    private var last: Coordinate?
    private var travelled = 0.0
    private var heldSince: MonotonicTime?

    /// Makes a value that holds nothing.
    ///
    /// - Throws: `invalidConfiguration` when the distance is not above zero.
    public init(distance: Meters) throws(TrackingError) {
        guard distance.value > 0, distance.value.isFinite else {
            throw TrackingError(
                .invalidConfiguration, "the distance to defer by must be above 0 m, not \(distance.value)")
        }
        self.distance = distance
    }

    /// Whether something is held back.
    public var isHolding: Bool { self.heldSince != nil }

    /// When what is held goes at the latest; `nil` while nothing is.
    public var nextDeadline: MonotonicTime? { self.heldSince?.advanced(by: Self.maximumWait) }

    /// A point was recorded.
    ///
    /// - Returns: Whether everything recorded so far goes now. The first point goes at once.
    public mutating func recorded(_ fix: Location, now: MonotonicTime) -> Bool {
        defer { self.last = fix.coordinate }
        guard let last = self.last else { return true }
        self.travelled += last.distance(to: fix.coordinate).value
        self.heldSince = self.heldSince ?? now
        guard self.travelled >= self.distance.value else { return false }
        self.release()
        return true
    }

    /// The time is `now`.
    ///
    /// - Returns: Whether what is held goes now.
    public mutating func timerFired(now: MonotonicTime) -> Bool {
        guard let deadline = self.nextDeadline, now >= deadline else { return false }
        self.release()
        return true
    }

    /// Everything recorded so far is sent: the way begins anew.
    public mutating func release() {
        self.travelled = 0
        self.heldSince = nil
    }
}
