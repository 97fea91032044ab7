import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// Exports the points that a query finds in the history. Its memory is bounded: one page of points, or `maximumPoints`
/// points.
struct HistoryExport {
    let query: PointQuery
    let format: HistoryFormat
    let maximumPoints: Int?

    /// The outcome of an export: the counts of points and the error of the written track.
    struct Summary: Equatable {
        /// The number of points that the query found.
        var found = 0
        /// The number of points that were written.
        var written = 0
        /// The largest distance, in metres, between a left-out point and the position that the written points give for
        /// the same time.
        var bound: Meters = 0

        /// The outcome as text for people; `nil` if no point was left out.
        var note: String? {
            guard self.written < self.found else { return nil }
            return "\(self.written) of \(counted(self.found, "point")) written. The others are at most "
                + "\(self.bound.value.text(digits: 1)) m from the line through the written points at their time\n"
        }
    }

    /// Writes the points to a file in the export's format, and returns the outcome.
    ///
    /// - Throws: The errors of the history and of the file.
    func run(
        _ store: any HistoryStore, to file: OutputFile, _ progress: inout ErrorProgress
    ) async throws -> Summary {
        let end = try await store.lastPositions(of: [self.query.trackable]).first?.location.time
        var share = TimeShare(end: [self.query.times.to, end].compactMap { $0 }.min())
        var writer = HistoryWriter(self.format, of: self.query.trackable)
        try file.write(writer.begin())
        var summary = Summary()
        var simplifier = try self.maximumPoints.map { try HistorySimplifier(maximumPoints: $0) }
        var continuity = TrackContinuity(try await store.coverage(of: self.query.trackable))
        var leftOut = LeftOutPoints(self.query, in: store)
        try await store.readAll(self.query) { page in
            for point in page.map(\.location) {
                let step = continuity.step(to: point)
                let isInterrupted = try await Self.isInterruption(step, before: point, &leftOut)
                if simplifier != nil {
                    if isInterrupted { simplifier?.interrupt() }
                    simplifier?.append(point)
                } else {
                    if isInterrupted { try file.write(writer.interrupt()) }
                    try file.write(writer.append(point))
                }
            }
            summary.found += page.count
            if let bar = share.bar(page) { progress.show(bar) }
        }
        summary.written = summary.found
        if let simplifier {
            for (index, piece) in simplifier.pieces.enumerated() {
                if index > 0 { try file.write(writer.interrupt()) }
                for point in piece { try file.write(writer.append(point)) }
            }
            (summary.written, summary.bound) = (simplifier.points.count, simplifier.bound)
        }
        try file.write(writer.finish())
        return summary
    }

    /// Returns `true` if the track is interrupted before a point, because records are missing or a point outside of the
    /// query's area was left out.
    private static func isInterruption(
        _ step: TrackContinuity.Step, before point: Location, _ leftOut: inout LeftOutPoints
    ) async throws -> Bool {
        switch step {
        case .next: return false
        case .missing: return true
        case .passedOver(let time): return try await leftOut.areAny(after: time, before: point)
        }
    }
}

/// The progress of reading a span of time: the part of the span that has been read.
struct TimeShare {
    /// The end of the span of time; `nil` if it is unknown.
    let end: UnixTime?
    private var start: UnixTime?

    init(end: UnixTime?) { self.end = end }

    /// Returns the progress after a page of points, in percent; `nil` while the span of time is unknown.
    mutating func bar(_ page: [StoredPoint]) -> ProgressBar? {
        guard let end = self.end, let first = page.first?.location.time, let time = page.last?.location.time else {
            return nil
        }
        let start = self.start ?? first
        self.start = start
        let whole = end.seconds - start.seconds
        guard whole > 0 else { return nil }
        return ProgressBar(done: Int((max(0, min(1, (time.seconds - start.seconds) / whole)) * 100)), total: 100)
    }
}
