/// A run: a group of at most 256 consecutive points of one trackable, described by its area and time span. Runs are the
/// entries of the index for spatial queries.
public struct PointRun: Hashable, Sendable {
    /// The earliest time of a point in the run, a group of consecutive points of a trackable.
    public private(set) var first: UnixTime
    /// The latest time of a point in the run, a group of consecutive points of a trackable.
    public private(set) var last: UnixTime
    /// The lowest latitude of the points in the run (a group of consecutive points), in degrees.
    public private(set) var south: Double
    /// The lowest longitude of the points in the run (a group of consecutive points), in degrees.
    public private(set) var west: Double
    /// The highest latitude of the points in the run (a group of consecutive points), in degrees.
    public private(set) var north: Double
    /// The highest longitude of the points in the run (a group of consecutive points), in degrees. A run across the
    /// antimeridian therefore covers all longitudes from its lowest to its highest.
    public private(set) var east: Double
    /// The number of points in the run, a group of consecutive points of a trackable.
    public private(set) var count: Int

    /// The maximum number of points in a run of consecutive points.
    public static let maximumCount = 256
    /// The maximum time by which a point may be before the first or after the last point of a run: 1 hour. A point
    /// farther away in time begins another run.
    public static let maximumPause = Duration.seconds(3600)

    /// Makes a run (a group of consecutive points) that begins with one point at this place and time.
    public init(_ place: Coordinate, at time: UnixTime) {
        self.init(
            first: time, last: time, south: place.latitude, west: place.longitude, north: place.latitude,
            east: place.longitude, count: 1)
    }

    /// Makes a run (a group of consecutive points) from the stored values of its time span, its area and its number of
    /// points.
    public init(
        first: UnixTime, last: UnixTime, south: Double, west: Double, north: Double, east: Double, count: Int
    ) {
        self.first = first
        self.last = last
        self.south = south
        self.west = west
        self.north = north
        self.east = east
        self.count = count
    }

    /// Adds a point to the run. Returns `false`, and does not add the point, when the run has ``maximumCount`` points
    /// already, or the point is more than an hour before or after all of them. The caller then begins another run with
    /// the point.
    public mutating func add(_ place: Coordinate, at time: UnixTime) -> Bool {
        let pause = Self.maximumPause.inSeconds
        guard self.count < Self.maximumCount, time.seconds <= self.last.seconds + pause,
            time.seconds >= self.first.seconds - pause
        else { return false }
        self.first = min(self.first, time)
        self.last = max(self.last, time)
        self.south = min(self.south, place.latitude)
        self.north = max(self.north, place.latitude)
        self.west = min(self.west, place.longitude)
        self.east = max(self.east, place.longitude)
        self.count += 1
        return true
    }

    /// The run with its area enlarged outward to multiples of 1/64 degree. The enlarged area remains the same for most
    /// new points, so a stored area seldom has to be written again.
    public var widened: PointRun {
        var run = self
        run.south = (self.south * 64).rounded(.down) / 64
        run.west = (self.west * 64).rounded(.down) / 64
        run.north = (self.north * 64).rounded(.up) / 64
        run.east = (self.east * 64).rounded(.up) / 64
        return run
    }

    func hasBox(of other: PointRun) -> Bool {
        self.south == other.south && self.west == other.west && self.north == other.north && self.east == other.east
    }

    /// Divides points, given in order of time, into runs: groups of consecutive points.
    public static func runs(of points: some Sequence<(place: Coordinate, time: UnixTime)>) -> [PointRun] {
        var runs: [PointRun] = []
        for (place, time) in points where runs.isEmpty || !runs[runs.count - 1].add(place, at: time) {
            runs.append(PointRun(place, at: time))
        }
        return runs
    }
}
