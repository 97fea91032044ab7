/// The area and the time span of a run of consecutive points of one trackable. Runs are the entries of the spatial
/// index.
public struct PointRun: Hashable, Sendable {
    /// The earliest time of the points.
    public private(set) var first: UnixTime
    /// The latest time of the points.
    public private(set) var last: UnixTime
    /// The lowest latitude, in degrees.
    public private(set) var south: Double
    /// The lowest longitude, in degrees.
    public private(set) var west: Double
    /// The highest latitude, in degrees.
    public private(set) var north: Double
    /// The highest longitude, in degrees. A run across the antimeridian covers every longitude between its lowest and
    /// highest.
    public private(set) var east: Double
    /// The number of points.
    public private(set) var count: Int

    /// The maximum number of points in a run.
    public static let maximumCount = 256
    /// The maximum time between a point and the run's first or last time. A point beyond it begins another run, so that
    /// late points do not extend the run of the current ones.
    public static let maximumPause = Duration.seconds(3600)

    /// Makes a run of one point.
    public init(_ place: Coordinate, at time: UnixTime) {
        self.init(
            first: time, last: time, south: place.latitude, west: place.longitude, north: place.latitude,
            east: place.longitude, count: 1)
    }

    /// Makes a run from stored values.
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

    /// Adds a point to the run. Returns `false`, without adding it, when the point begins another run.
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

    /// The run with its box enlarged outward to multiples of 1/64 degree. The enlarged box remains unchanged for most
    /// new points, so a stored box needs few writes.
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

    /// Divides points in order of time into runs.
    public static func runs(of points: some Sequence<(place: Coordinate, time: UnixTime)>) -> [PointRun] {
        var runs: [PointRun] = []
        for (place, time) in points where runs.isEmpty || !runs[runs.count - 1].add(place, at: time) {
            runs.append(PointRun(place, at: time))
        }
        return runs
    }
}
