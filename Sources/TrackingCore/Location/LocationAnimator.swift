/// Says where a smooth marker is between updates: a value that is given the updates as they come, and asked as often as the
/// screen likes.
///
/// From each update on, the marker goes from where it is, by way of what it has not yet passed and of the update's
/// intermediate locations, to the newest position, at an even speed, and is there when the next update is expected. Whatever
/// way is left is walked within that one interval, so that a marker that updates outrun goes faster and is never further
/// behind than one interval. Positions lie on great circles. Its time is that of any clock of yours that only goes forward:
/// `MonotonicTime(start.duration(to: .now))`, where `start` is a `ContinuousClock.Instant`.
///
///     var animator = LocationAnimator(expectedInterval: resolution.desiredInterval)
///     animator.updated(update, now: now)
///     …
///     if let frame = animator.frame(at: now) { marker.place(frame.coordinate, heading: frame.bearing) }
public struct LocationAnimator: Sendable {
    /// What to draw at one moment.
    public struct Frame: Hashable, Sendable {
        /// Where the marker is.
        public let coordinate: Coordinate
        /// Where it points, degrees from true north, 0 ≤ b < 360; `nil` while neither a fix nor a movement has told it.
        public let bearing: Double?
        /// How much of the time to the next expected update has passed, 0…1.
        public let progress: Double
        /// Whether the newest position is reached, so that nothing moves until the next update.
        public var hasRunOut: Bool { self.progress >= 1 }
    }

    /// A point of the way, and how the marker points when it gets there.
    private struct Waypoint: Sendable {
        let coordinate: Coordinate
        let bearing: Double?
        /// Metres of way from the marker's place at the start.
        let travelled: Double
    }

    /// The most points of way that are kept; of a longer way the oldest are cut short.
    static let maximumWaypoints = 256

    /// The time between two updates; it holds from the next update on. Zero: the marker jumps. ``ResolutionInForce`` tells it.
    public var expectedInterval: Duration
    /// What is added to the expected interval, so that an update a little late does not make the marker stop; the marker
    /// lags behind by as much.
    public var delay: Duration
    /// The marker does not walk a step longer than this, but is put at its end; `nil`: it walks any step.
    public var snapDistance: Meters?

    /// Where the marker was at `start`, then what it has to pass. Empty until the first update; a single point while
    /// `duration` is zero.
    private var way: [Waypoint] = []
    private var start = MonotonicTime(.zero)
    private var duration = Duration.zero

    /// Makes an animator to which no update was given.
    public init(expectedInterval: Duration, delay: Duration = .zero, snapDistance: Meters? = 10_000) {
        self.expectedInterval = expectedInterval
        self.delay = delay
        self.snapDistance = snapDistance
    }

    /// How many points of way are kept; for tests of the bound.
    var waypointCount: Int { self.way.count }

    /// An update arrived. Give it current ones only: the marker goes wherever it is told (see ``UpdateOrder``).
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

    /// Puts the marker at the newest position at once; for a map that was hidden.
    public mutating func snap() {
        self.way = Array(self.way.suffix(1))
        self.duration = .zero
    }

    /// What to draw at `now`; `nil` before the first update.
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

    /// The first waypoint at or beyond `travelled`, never the start itself.
    private func index(at travelled: Double) -> Int {
        self.way.dropFirst().firstIndex { $0.travelled > travelled } ?? self.way.count - 1
    }

    /// Where the marker is at `now`, and what it has not yet passed.
    private func rest(at now: MonotonicTime) -> [Waypoint] {
        guard let frame = self.frame(at: now), let last = self.way.last else { return [] }
        guard !frame.hasRunOut, let first = self.way.first else { return [last] }
        let travelled = first.travelled + frame.progress * (last.travelled - first.travelled)
        let here = Waypoint(coordinate: frame.coordinate, bearing: frame.bearing, travelled: travelled)
        return [here] + self.way[self.index(at: travelled)...]
    }

    /// The bearing is the fix's own, else the direction of the step, else what it was.
    private static func waypoint(
        _ location: Location, after previous: Waypoint?, step: Meters, travelled: Double
    ) -> Waypoint {
        let direction = step > 0 ? previous?.coordinate.bearing(to: location.coordinate) : nil
        return Waypoint(
            coordinate: location.coordinate, bearing: location.bearing ?? direction ?? previous?.bearing,
            travelled: travelled + step.value)
    }

    /// The shortest way round.
    private static func bearing(from: Double?, to: Double?, fraction: Double) -> Double? {
        guard let to else { return from }
        guard let from else { return to }
        let turn = (to - from).normalizedBearing
        return (from + (turn > 180 ? turn - 360 : turn) * fraction).normalizedBearing
    }
}
