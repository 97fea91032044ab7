import TrackingCore

/// A page of points while it is being read.
struct PageDraft {
    /// A point and its place in the order of reading.
    struct Entry {
        var name: PointName
        var point: StoredPoint
    }

    private var entries: [Entry] = []
    /// The key of the point at which the next page begins; `nil` if no page follows.
    var next: PointName?

    /// The number of points.
    var count: Int { self.entries.count }
    /// The key of the last point that was read.
    var last: PointName? { self.entries.last?.name }

    mutating func append(_ entry: Entry) { self.entries.append(entry) }

    /// The finished page. Points of one time are in the order of their streams' names, not in the order in which they
    /// were stored.
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

/// The time spans of runs of points near a place. Overlapping runs are joined.
struct RunSpan {
    /// The number of runs that are read from the spatial index at once.
    static let runsTogether = 64
    /// The maximum length of a run in seconds.
    static let longestRun = Double(PointRun.maximumCount + 1) * PointRun.maximumPause.inSeconds

    private let from: Double
    private var covered: (from: Double, to: Double)?
    private var count = 0

    /// Makes a span that covers nothing. Only times from `from` on matter.
    init(from: Double) { self.from = from }

    /// Adds the next run, in the order of first times. Returns `false`, without adding the run, when it does not
    /// overlap the runs before.
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

    /// Returns the time span that the added runs cover, at most until `end`; `nil` if they cover none.
    func times(until end: Double) -> TimeSpan? {
        self.covered.map { TimeSpan(from: UnixTime($0.from), to: UnixTime(min($0.to, end))) }
    }
}
