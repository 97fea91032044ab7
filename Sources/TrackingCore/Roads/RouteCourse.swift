/// A route along which a trackable travels to the open stops of its journey.
struct RouteCourse: Sendable {
    /// The ids of the stops at the ends of the route's legs.
    let ids: [String]
    private(set) var progress: RouteProgress
    /// The number of consecutive fixes that were off the route.
    private(set) var strays = 0
    /// The time of the last fix on the route; `nil` before the first.
    private var last: UnixTime?
    /// The expected travel time from the start of the route to the first fix on it, in seconds, and the time of that
    /// fix.
    private var start: (duration: Double, time: UnixTime)?

    /// The distance from the route, in metres, from which on a fix is off the route.
    private static let width = 50.0
    /// The number of consecutive fixes off the route after which the trackable has left it.
    private static let mostStrays = 2
    /// The share by which the progress may differ from the expected progress, and the least difference in seconds.
    private static let tolerance = (share: 0.2, least: 10.0)

    /// Makes a course along a route to the stops with the given ids; returns `nil` for a route without a way, or with
    /// another number of legs.
    init?(_ route: Route, to ids: [String]) {
        guard route.legs.count == ids.count, let progress = RouteProgress(route) else { return nil }
        self.ids = ids
        self.progress = progress
    }

    /// `true` after two consecutive fixes off the route.
    var isLeft: Bool { self.strays >= Self.mostStrays }

    /// Processes a fix, and adds the travelled part of the way to the trackable's pace.
    ///
    /// - Parameters:
    ///   - fix: The fix.
    ///   - next: The id of the next stop. The position on the route is never beyond it.
    ///   - pace: The pace of the trackable.
    mutating func moved(_ fix: Location, before next: String?, _ pace: inout TravelPace) {
        let before = self.progress.duration
        let end = self.ids.firstIndex { $0 == next }.map { self.progress.stops[$0].length } ?? .infinity
        let offset = self.progress.moved(to: fix.coordinate, before: end)
        guard offset.value <= max(Self.width, fix.accuracyHorizontal ?? 0) else {
            self.strays += 1
            return
        }
        self.strays = 0
        defer { self.last = fix.time }
        guard let last = self.last else {
            self.start = (self.progress.duration, fix.time)
            return
        }
        pace.travelled(expected: self.progress.duration - before, actual: fix.time.seconds - last.seconds)
    }

    /// Returns `true` when the travelled part of the way differs by more than a fifth from the part that was expected
    /// at the trackable's pace.
    func differs(pace: Double) -> Bool {
        guard let start = self.start, let last = self.last else { return false }
        let expected = (last.seconds - start.time.seconds) / pace
        let difference = abs(self.progress.duration - start.duration - expected)
        return difference > max(Self.tolerance.least, Self.tolerance.share * expected)
    }

    /// Returns `true` when the route ends at exactly these stops, in this order. The route may contain stops before
    /// them, at which the trackable has arrived.
    func leads(to open: [String]) -> Bool { !open.isEmpty && self.ids.suffix(open.count) == open[...] }

    /// Returns the remaining distance in metres to a stop, and the remaining time in seconds, at the engine's pace, until
    /// the arrival there; `nil` for a stop that is not on the route. The trackable arrives before the stop itself, within
    /// its radius.
    func remaining(to stop: Journey.Stop) -> (distance: Double, duration: Double)? {
        guard let index = self.ids.firstIndex(of: stop.id) else { return nil }
        let end = self.progress.stops[index].length
        let start = index > 0 ? self.progress.stops[index - 1].length : 0
        let arrival = self.progress.duration(at: max(start, end - stop.radius.value))
        return (max(0, end - self.progress.length), max(0, arrival - self.progress.duration))
    }
}
