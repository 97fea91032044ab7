import TrackingCore

/// The recorded points of several trackables, merged by time. One page of each trackable is read at a time.
struct RecordedMerge {
    /// A trackable, and its points that were read and not returned.
    private struct Source {
        let id: TrackableID
        var points: ArraySlice<Location>
        /// The start of the next page; `nil` after the last page.
        var after: PointName?
    }

    private let since: UnixTime
    private let recorded: RecordedPoints
    private var unread: ArraySlice<TrackableID>
    /// The sources with a next point. The source with the earliest one is the last element.
    private var sources: [Source] = []

    /// Creates a merge that has read nothing.
    init(of ids: [TrackableID], since: UnixTime, _ recorded: @escaping RecordedPoints) {
        self.since = since
        self.recorded = recorded
        self.unread = ids[...]
    }

    /// Returns the next point; `nil` after the last one.
    ///
    /// - Throws: The error of reading.
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

    /// Inserts a source by the time of its next point; among equal times, behind the sources that are present.
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
