import TrackingCore

/// The recorded points of several trackables, by time; of each a page at a time.
struct RecordedMerge {
    /// A trackable, and what of it was read and not given.
    private struct Source {
        let id: TrackableID
        var points: ArraySlice<Location>
        /// Where its next page begins.
        var after: PointName?
    }

    private let since: UnixTime
    private let recorded: RecordedPoints
    private var unread: ArraySlice<TrackableID>
    /// Those with a point to give, the one with the earliest at the end.
    private var sources: [Source] = []

    /// Nothing is read yet.
    init(of ids: [TrackableID], since: UnixTime, _ recorded: @escaping RecordedPoints) {
        self.since = since
        self.recorded = recorded
        self.unread = ids[...]
    }

    /// The next point; `nil` after the last.
    ///
    /// - Throws: What reading throws.
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

    /// Puts a source where the time of its next point belongs; of one time, behind those that are there.
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
