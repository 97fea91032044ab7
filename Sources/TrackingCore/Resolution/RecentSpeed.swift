/// The speed of a trackable during the last 30 s: the length of its path divided by the time. The times are those of
/// its fixes.
///
/// If the 30 s begin between two fixes, the part of the path after that moment counts in proportion. A trackable with
/// one fix a minute therefore has a speed too.
struct RecentSpeed: Sendable {
    private struct Point: Sendable {
        let time: UnixTime
        let coordinate: Coordinate
        /// The length of the trackable's path up to this point, in metres. It is counted from an earlier point, so only
        /// the difference between two points counts.
        let travelled: Double
    }

    /// The length of the period over which the speed is measured, in seconds: 30. The period ends with the newest fix.
    private static let window = 30.0
    /// The least time, in seconds, between the first and the newest fix of the path for a speed to be calculated. Over
    /// a shorter time, the errors of two fixes would look like speed.
    private static let leastSpan = 0.9

    /// The fixes that form the trackable's path, in order of time: those of the last 30 s before the newest one, and
    /// the newest fix before these.
    private var points: [Point] = []
    private var lastArrival: MonotonicTime?

    /// The speed of the trackable in the last 30 s before its newest fix, in metres a second. `nil` while the known
    /// fixes cover less than about a second.
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

    /// Adds a fix to the path from which the speed is calculated. Returns `false` when the fix is ignored because it is
    /// older than the newest one.
    ///
    /// If only older fixes arrive for 30 s, the clock of the fixes was evidently set back. The path then begins again.
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

    /// Forgets all fixes, so that the speed is unknown until new ones arrive.
    mutating func reset() {
        self.points = []
        self.lastArrival = nil
    }

    private mutating func begin(_ fix: Location, now: MonotonicTime) {
        self.points = [Point(time: fix.time, coordinate: fix.coordinate, travelled: 0)]
        self.lastArrival = now
    }
}
