/// The remaining way of a trackable to its destination, as its publisher publishes it.
public struct Approach: Hashable, Sendable {
    /// The trackable's destination.
    public var destination: Coordinate
    /// The distance from the last published position to the destination, ≥ 0: along roads if there is a recent estimate
    /// of the arrival, and otherwise the great-circle distance. `nil` before the first position.
    public var distance: Meters?
    /// The estimated time from the last published position to the arrival, ≥ 0: that of a recent estimate along roads,
    /// or else the distance divided by a speed that is smoothed over some minutes. `nil` while it is unknown, for
    /// example because the trackable does not move.
    public var timeToArrival: Duration?

    /// Makes an approach from a destination and, if they are known, the distance and the time to arrival.
    public init(destination: Coordinate, distance: Meters? = nil, timeToArrival: Duration? = nil) {
        self.destination = destination
        self.distance = distance
        self.timeToArrival = timeToArrival
    }

    /// Makes the approach of a trackable from its position to the destination, in whole metres and whole seconds.
    ///
    /// - Parameters:
    ///   - position: The last published position; `nil` before the first.
    ///   - speed: The smoothed speed in metres a second, > 0; `nil` while it is unknown.
    ///   - arrival: The estimated arrival along roads, which takes precedence over the speed; `nil` while it is unknown.
    package init(
        destination: Coordinate, from position: Location?, speed: Double?, arrival: ArrivalEstimate.Arrival? = nil
    ) {
        self.destination = destination
        guard let position else { return }
        let distance = position.coordinate.distance(to: destination)
        self.distance = Meters((arrival?.distance(at: position.time) ?? distance).value.rounded())
        let seconds = arrival.map { max(0, $0.duration(from: position.time).inSeconds) }
        self.timeToArrival = (seconds ?? speed.map { distance.value / $0 }).map {
            Duration(clampingSeconds: $0.rounded())
        }
    }

    /// Returns `true` if this approach differs so much from `other` that it is worth publishing. The distance or the
    /// time to arrival must differ by more than a twentieth and by more than 20 m or 20 s, or have become known or
    /// unknown.
    func differsNoticeably(from other: Approach) -> Bool {
        Self.differs(self.distance?.value, other.distance?.value)
            || Self.differs(self.timeToArrival?.inSeconds, other.timeToArrival?.inSeconds)
    }

    private static func differs(_ one: Double?, _ other: Double?) -> Bool {
        guard let one, let other else { return (one == nil) != (other == nil) }
        return abs(one - other) > max(20, 0.05 * max(one, other))
    }
}

/// Decides which ``Approach`` of one trackable, its remaining way to the destination, is published.
/// `docs/reference/resolution.md`, "Destination", contains the rule.
///
/// A new, changed or removed destination takes effect at once. A change of the distance or of the time to arrival takes
/// effect only if it is noticeable, and at most once in 15 s. The first distance after a new destination does not wait.
package struct ApproachStateMachine: Hashable, Sendable {
    /// The shortest time between two published changes of the distance or of the time to arrival: 15 s.
    package static let pause: Duration = .seconds(15)

    /// The approach (the remaining distance and time to the destination) that the publisher publishes at present; `nil`
    /// without a destination.
    package private(set) var current: Approach?
    private var latest: Approach?
    private var changed: MonotonicTime?

    /// Makes the machine that decides which approach of a trackable is published. The trackable has no destination yet.
    package init() {}

    /// The time at which the caller must call ``updated(_:now:)`` again, because a noticeable change of the distance or
    /// of the time to arrival waits until then. `nil` when no such change waits.
    package var nextDeadline: MonotonicTime? {
        self.isNoticeable ? self.changed?.advanced(by: Self.pause) : nil
    }

    /// Processes the trackable's newest approach, `nil` without a destination. It becomes ``current`` at once if the
    /// destination changed, or if a noticeable change follows the last one after at least 15 s. Otherwise it waits
    /// until ``nextDeadline``. The caller calls this for each published position, after each change of the destination,
    /// and at ``nextDeadline``.
    package mutating func updated(_ latest: Approach?, now: MonotonicTime) {
        self.latest = latest
        let isNew = latest?.destination != self.current?.destination
        let isDue = self.isNoticeable && self.changed.map { $0.advanced(by: Self.pause) <= now } ?? true
        guard isNew || isDue, latest != self.current else { return }
        self.current = latest
        // The first position after a new destination need not wait.
        self.changed = latest?.distance == nil ? nil : now
    }

    private var isNoticeable: Bool {
        guard let latest = self.latest, let current = self.current else { return false }
        return latest.differsNoticeably(from: current)
    }
}
