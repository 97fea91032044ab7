import TrackingCore

/// Collects the points of one page of a trackable's history while they are read from the database.
struct PageDraft {
    /// A point of the page, with the name (time, stream key and number) that determines its place in the order of
    /// reading.
    struct Entry {
        var name: PointName
        var point: StoredPoint
    }

    private var entries: [Entry] = []
    /// The name of the last point of this page, after which the next page begins; `nil` if no page follows.
    var next: PointName?

    /// The number of points that were added to the page so far.
    var count: Int { self.entries.count }
    /// The name of the last point that was added to the page: its time, stream and number.
    var last: PointName? { self.entries.last?.name }

    mutating func append(_ entry: Entry) { self.entries.append(entry) }

    /// The page with the points that were added so far, and the point after which the next page begins. The points are
    /// ordered by time, then by the names of their streams, then by `seq`.
    var page: PointPage {
        let sorted = self.entries.sorted { left, right in
            guard left.name.time == right.name.time else { return left.name.time < right.name.time }
            return (left.streamName, left.name.seq) < (right.streamName, right.name.seq)
        }
        return PointPage(points: sorted.map(\.point), next: self.next)
    }
}

extension PageDraft.Entry {
    fileprivate var streamName: String { self.point.location.stream?.rawValue ?? "" }
}

/// A time span that joins overlapping runs. A run is a group of consecutive points of one trackable, with its first and
/// last time and its bounding box.
struct RunSpan {
    /// The maximum number of runs (groups of consecutive points) that are joined into one time span.
    static let runsTogether = 64
    /// The longest time in seconds that a run, a group of consecutive points of one trackable, can cover.
    static let longestRun = Double(PointRun.maximumCount + 1) * PointRun.maximumPause.inSeconds

    private let from: Double
    private var covered: (from: Double, to: Double)?
    private var count = 0

    /// Makes a time span to which no run of points was added yet. The span never begins before `from`, in seconds of
    /// Unix time.
    init(from: Double) { self.from = from }

    /// Adds a run, a group of consecutive points of the trackable, to the time span. The runs must be passed in the
    /// order of their first times.
    ///
    /// - Parameters:
    ///   - first: The time of the run's first point, in seconds of Unix time.
    ///   - last: The time of the run's last point, in seconds of Unix time.
    /// - Returns: `false`, and the run is not added, if the run begins after the end of the span, or if the span has
    ///   ``runsTogether`` runs already.
    mutating func add(first: Double, last: Double) -> Bool {
        guard let known = self.covered else {
            self.covered = (max(first, self.from), last.nextUp)
            self.count = 1
            return true
        }
        guard first <= known.to, self.count < Self.runsTogether else { return false }
        self.covered?.to = max(known.to, last.nextUp)
        self.count += 1
        return true
    }

    /// Returns the time span from the beginning of the first added run to the latest end of an added run, cut off at
    /// `end` (in seconds of Unix time). Returns `nil` if no run was added.
    func times(until end: Double) -> TimeSpan? {
        self.covered.map { TimeSpan(from: UnixTime($0.from), to: UnixTime(min($0.to, end))) }
    }
}
