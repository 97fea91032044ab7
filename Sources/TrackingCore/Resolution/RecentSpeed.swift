/// The speed during the last 30 s: path length divided by time, by the fixes' own times
/// (`docs/reference/resolution.md`, "Near").
///
/// When two fixes are more than 30 s apart, the part of the path between them within the window counts in proportion.
/// So a trackable with one fix a minute has a speed too.
struct RecentSpeed: Sendable {
    private struct Point: Sendable {
        let time: UnixTime
        let coordinate: Coordinate
        /// Metres since the first point.
        let travelled: Double
    }

    /// The window, in seconds.
    private static let window = 30.0
    /// The minimum time span of a path in seconds. Within a shorter span, the noise of two fixes would look like speed.
    private static let leastSpan = 0.9

    /// The points in order of time. The first is the newest point at or before the window's start, if there is one.
    private var points: [Point] = []
    private var lastArrival: MonotonicTime?

    /// The speed in metres a second; `nil` while less than a second of the path is known.
    var metersPerSecond: Double? {
        guard let first = self.points.first, let last = self.points.last else { return nil }
        let start = last.time.seconds - Self.window
        guard first.time.seconds < start else {
            let span = last.time.seconds - first.time.seconds
            return span < Self.leastSpan ? nil : (last.travelled - first.travelled) / span
        }
        let second = self.points[1]  // the last is after the window's start, hence not the first
        let before = (start - first.time.seconds) / (second.time.seconds - first.time.seconds)
        let travelledAtStart = first.travelled + before * (second.travelled - first.travelled)
        return (last.travelled - travelledAtStart) / Self.window
    }

    /// Adds a fix to the path. Returns `false` when the fix is older than the newest one and is therefore ignored.
    ///
    /// After 30 s with older fixes only, their clock was evidently set back, and the path begins again.
    mutating func moved(_ fix: Location, now: MonotonicTime) -> Bool {
        guard let last = self.points.last, let lastArrival = self.lastArrival else {
            self.begin(fix, now: now)
            return true
        }
        if fix.time < last.time {
            guard lastArrival.duration(to: now) > .seconds(Self.window) else { return false }
            self.begin(fix, now: now)
            return true
        }
        self.lastArrival = now
        guard fix.time > last.time else { return true }
        let travelled = last.travelled + last.coordinate.distance(to: fix.coordinate).value
        self.points.append(Point(time: fix.time, coordinate: fix.coordinate, travelled: travelled))
        let start = fix.time.seconds - Self.window
        let kept = self.points.firstIndex { $0.time.seconds > start } ?? 0
        if kept > 1 { self.points.removeFirst(kept - 1) }
        return true
    }

    /// Forgets the path.
    mutating func reset() {
        self.points = []
        self.lastArrival = nil
    }

    private mutating func begin(_ fix: Location, now: MonotonicTime) {
        self.points = [Point(time: fix.time, coordinate: fix.coordinate, travelled: 0)]
        self.lastArrival = now
    }
}
