import TrackingCore

/// Merges the recorded points of several trackables by time. Holds one page of the history of each trackable at a time.
struct RecordedMerge {
    /// A trackable, with its recorded points that were read from the history but not returned yet.
    private struct Source {
        let id: TrackableID
        var points: ArraySlice<Location>
        /// The point after which the trackable's next page begins; `nil` after the last page.
        var after: PointName?
    }

    private let since: UnixTime
    private let recorded: RecordedPoints
    private var unread: ArraySlice<TrackableID>
    /// The trackables with points that were read from the history and not returned yet. They are ordered by the time of
    /// their next point, and the earliest is at the end.
    private var sources: [Source] = []

    /// Creates a merge of the recorded points of several trackables, which has read nothing yet.
    ///
    /// - Parameters:
    ///   - ids: The trackables.
    ///   - since: The time of the first recorded points to return.
    ///   - recorded: Reads a page of the recorded points of a trackable.
    init(of ids: [TrackableID], since: UnixTime, _ recorded: @escaping RecordedPoints) {
        self.since = since
        self.recorded = recorded
        self.unread = ids[...]
    }

    /// Returns the next recorded point by time, with its trackable; `nil` after the last point.
    ///
    /// - Throws: The error of reading the history.
    mutating func next() async throws -> (id: TrackableID, point: Location)? {
        while let id = self.unread.popFirst() { try await self.read(Source(id: id, points: [], after: nil)) }
        guard var source = self.sources.popLast(), let point = source.points.popFirst() else { return nil }
        if !source.points.isEmpty {
            self.insert(source)
        } else if source.after != nil {
            try await self.read(source)
        }
        return (source.id, point)
    }

    private mutating func read(_ source: Source) async throws {
        var source = source
        repeat {
            let page = try await self.recorded(source.id, self.since, source.after)
            source.points = page.points[...]
            source.after = page.next
        } while source.points.isEmpty && source.after != nil
        if !source.points.isEmpty { self.insert(source) }
    }

    /// Inserts a trackable into the list of sources, which is ordered by the time of each trackable's next point. Of
    /// trackables with the same time, the one that was inserted first is returned first.
    private mutating func insert(_ source: Source) {
        guard let time = source.points.first?.time else { return }
        var (low, high) = (0, self.sources.count)
        while low < high {
            let middle = (low + high) / 2
            if self.sources[middle].points.first.map({ $0.time > time }) ?? false {
                low = middle + 1
            } else {
                high = middle
            }
        }
        self.sources.insert(source, at: low)
    }
}
