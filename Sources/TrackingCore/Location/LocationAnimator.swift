/// Computes the position of a smoothly moving map marker between updates.
///
/// Give the animator each update as it arrives, and request a ``Frame`` whenever the screen is drawn. After each
/// update, the marker moves at constant speed along the points that it has not passed yet, then along the update's
/// intermediate locations, to the newest position. It arrives when the next update is expected. Because the whole
/// remaining path takes one interval, the marker moves faster when updates come early, and it is late by at most one
/// interval and the ``delay``. Positions between two points lie on a great circle.
///
/// The animator reads no clock. Pass the time of any clock that never goes back, for example
/// `MonotonicTime(start.duration(to: .now))`, where `start` is a `ContinuousClock.Instant`.
///
///     var animator = LocationAnimator(expectedInterval: resolution.desiredInterval)
///     animator.updated(update, now: now)
///     …
///     if let frame = animator.frame(at: now) { marker.place(frame.coordinate, heading: frame.bearing) }
public struct LocationAnimator: Sendable {
    /// The map marker at one moment: its position and direction.
    public struct Frame: Hashable, Sendable {
        /// The position of the marker on the map.
        public let coordinate: Coordinate
        /// The direction of the marker in degrees from true north, 0 ≤ b < 360. `nil` while neither a fix nor a
        /// movement has provided a direction.
        public let bearing: Double?
        /// The elapsed fraction of the time from the last update to the next expected one, 0…1.
        public let progress: Double
        /// `true` after the marker has reached the newest position. The marker then rests there until the next update
        /// arrives.
        public var hasRunOut: Bool { self.progress >= 1 }
    }

    /// A point that the map marker passes on its way to the newest position, with the marker's direction at that point.
    private struct Waypoint: Sendable {
        let coordinate: Coordinate
        let bearing: Double?
        /// The length of the marker's path up to this point, in metres. It is counted from an earlier point, so only
        /// the difference between two points of the path counts.
        let travelled: Double
    }

    /// The maximum number of points on the marker's path. A longer path loses the points that the marker would pass
    /// next.
    static let maximumWaypoints = 256

    /// The expected time between two updates. The marker moves to a new position within this time and the ``delay``;
    /// when both are zero, it jumps. A new value takes effect at the next update. ``ResolutionInForce`` contains the
    /// publisher's current interval.
    public var expectedInterval: Duration
    /// A time added to the expected interval, so that the marker does not stop when an update is slightly late. The
    /// marker arrives later by this time.
    public var delay: Duration
    /// The longest distance between two points that the marker moves smoothly. The marker jumps over a longer distance.
    /// `nil` for no limit.
    public var snapDistance: Meters?

    /// The remaining path of the marker: its position at the time `start`, followed by the points that it will pass.
    /// The path is empty before the first update. It is a single point when the marker does not move.
    private var way: [Waypoint] = []
    private var start = MonotonicTime(.zero)
    private var duration = Duration.zero

    /// Makes an animator for the map marker of one trackable. It has received no update yet.
    ///
    /// - Parameters:
    ///   - expectedInterval: The expected time between two updates, ≥ 0. With zero and without a delay, the marker
    ///     jumps.
    ///   - delay: The time added to the expected interval, so that the marker does not stop when an update is slightly
    ///     late.
    ///   - snapDistance: The longest distance between two points that the marker moves smoothly; `nil` for no limit.
    public init(expectedInterval: Duration, delay: Duration = .zero, snapDistance: Meters? = 10_000) {
        self.expectedInterval = expectedInterval
        self.delay = delay
        self.snapDistance = snapDistance
    }

    /// The number of points on the marker's path. Tests use it to check the maximum number.
    var waypointCount: Int { self.way.count }

    /// Adds the positions of an update to the marker's path, when the update arrives. Pass only updates that
    /// ``UpdateOrder`` judges to be current: the animator does not check their times, and would also move the marker to
    /// an older position.
    public mutating func updated(_ update: LocationUpdate, now: MonotonicTime) {
        var way = self.rest(at: now)
        let isFirst = way.isEmpty
        for location in isFirst ? [update.location] : update.intermediate + [update.location] {
            let previous = way.last
            let step = previous?.coordinate.distance(to: location.coordinate) ?? 0
            if let snapDistance = self.snapDistance, step > snapDistance { way = [] }
            way.append(Self.waypoint(location, after: previous, step: step, travelled: way.last?.travelled ?? 0))
        }
        if way.count > Self.maximumWaypoints { way.removeSubrange(1...(way.count - Self.maximumWaypoints)) }
        self.way = way
        self.start = now
        self.duration = isFirst || way.count == 1 ? .zero : max(.zero, self.expectedInterval + self.delay)
    }

    /// Ends the movement of the map marker: it is at the newest position at once. Call this, for example, when a hidden
    /// map is shown again.
    public mutating func snap() {
        self.way = Array(self.way.suffix(1))
        self.duration = .zero
    }

    /// Returns the marker's position and direction at the time `now`; `nil` before the first update.
    public func frame(at now: MonotonicTime) -> Frame? {
        guard let last = self.way.last else { return nil }
        let progress = self.progress(at: now)
        guard progress < 1, let first = self.way.first else {
            return Frame(coordinate: last.coordinate, bearing: last.bearing, progress: 1)
        }
        let travelled = first.travelled + progress * (last.travelled - first.travelled)
        let index = self.index(at: travelled)
        let (from, to) = (self.way[index - 1], self.way[index])
        let length = to.travelled - from.travelled
        let fraction = length > 0 ? (travelled - from.travelled) / length : progress
        return Frame(
            coordinate: from.coordinate.interpolated(to: to.coordinate, fraction: fraction),
            bearing: Self.bearing(from: from.bearing, to: to.bearing, fraction: fraction), progress: progress)
    }

    private func progress(at now: MonotonicTime) -> Double {
        let passed = self.start.duration(to: now)
        guard self.duration > .zero, passed < self.duration else { return 1 }
        return passed <= .zero ? 0 : passed.inSeconds / self.duration.inSeconds
    }

    /// Returns the index of the next point of the marker's path: the first point that lies farther along the path than
    /// `travelled` metres, else the last point. Never returns 0, the marker's own position.
    private func index(at travelled: Double) -> Int {
        self.way.dropFirst().firstIndex { $0.travelled > travelled } ?? self.way.count - 1
    }

    /// Returns the rest of the marker's path: the marker's position at `now`, followed by the points that it has not
    /// passed yet.
    private func rest(at now: MonotonicTime) -> [Waypoint] {
        guard let frame = self.frame(at: now), let last = self.way.last else { return [] }
        guard !frame.hasRunOut, let first = self.way.first else { return [last] }
        let travelled = first.travelled + frame.progress * (last.travelled - first.travelled)
        let here = Waypoint(coordinate: frame.coordinate, bearing: frame.bearing, travelled: travelled)
        return [here] + self.way[self.index(at: travelled)...]
    }

    /// Makes a point of the path. Its direction is the bearing of the fix, else the direction from the previous point,
    /// else the direction at the previous point.
    private static func waypoint(
        _ location: Location, after previous: Waypoint?, step: Meters, travelled: Double
    ) -> Waypoint {
        let direction = step > 0 ? previous?.coordinate.bearing(to: location.coordinate) : nil
        return Waypoint(
            coordinate: location.coordinate, bearing: location.bearing ?? direction ?? previous?.bearing,
            travelled: travelled + step.value)
    }

    /// Interpolates between two bearings along the smaller angle between them.
    ///
    /// - Parameter fraction: The fraction of the way from the first bearing to the second, 0…1.
    private static func bearing(from: Double?, to: Double?, fraction: Double) -> Double? {
        guard let to else { return from }
        guard let from else { return to }
        let turn = (to - from).normalizedBearing
        return (from + (turn > 180 ? turn - 360 : turn) * fraction).normalizedBearing
    }
}
