import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// Exports the points that a query finds in the history to a file. It keeps only one page of points in memory, or
/// `maximumPoints` points if that limit is given. With a routing engine, it also keeps one run of points to match.
struct HistoryExport {
    let query: PointQuery
    let format: HistoryFormat
    let maximumPoints: Int?
    /// The writer of the table for people, which the format `text` uses; `nil` for the other formats.
    var lines: HistoryLines?
    /// The routing engine that matches the points with roads; `nil` to export the points as they were recorded.
    var engine: (any RoadEngine)?

    /// The outcome of an export: the numbers of points that were found and written, and the largest deviation that the
    /// omitted points cause.
    struct Summary: Equatable {
        /// The number of points that the query found in the history.
        var found = 0
        /// The number of points that were written to the file. It is lower than ``found`` if points were omitted to
        /// keep to a limit.
        var written = 0
        /// The largest distance, in metres, between an omitted point and the line through the written points, taken at
        /// the time of the omitted point.
        var bound: Meters = 0

        /// A sentence for people about the number of omitted points and their deviation; `nil` if all points were
        /// written.
        var note: String? {
            guard self.written < self.found else { return nil }
            return "\(self.written) of \(counted(self.found, "point")) written. The others are at most "
                + "\(self.bound.value.text(digits: 1)) m from the line through the written points at their time\n"
        }
    }

    /// Writes the points to a file in the export's format, and returns the outcome.
    ///
    /// - Throws: The errors of the history, of the file and of the routing engine.
    func run(
        _ store: any HistoryStore, to file: OutputFile, _ progress: inout ErrorProgress
    ) async throws -> Summary {
        let end = try await store.lastPositions(of: [self.query.trackable]).first?.location.time
        var share = TimeShare(end: [self.query.times.to, end].compactMap { $0 }.min())
        var writer = ExportWriter(
            writer: HistoryWriter(self.format, of: self.query.trackable, isMatched: self.engine != nil),
            lines: self.lines)
        try file.write(writer.begin())
        var summary = Summary()
        var simplifier = try self.maximumPoints.map { try HistorySimplifier(maximumPoints: $0) }
        var matcher = self.engine.map { TrackMatcher($0) }
        var continuity = TrackContinuity(try await store.coverage(of: self.query.trackable))
        var leftOut = LeftOutPoints(self.query, in: store)
        try await store.readAll(self.query) { page in
            for point in page.map(\.location) {
                let step = continuity.step(to: point)
                let isInterrupted = try await Self.isInterruption(step, before: point, &leftOut)
                if let matched = try await matcher?.append(point, isInterrupted: isInterrupted) {
                    for point in matched { try file.write(writer.append(point)) }
                } else if simplifier != nil {
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
        for point in try await matcher?.finish() ?? [] { try file.write(writer.append(point)) }
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

    /// Returns `true` if the written track must be interrupted before a point: records before it are missing, or points
    /// before it were left out because they lie outside of the query's area.
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

/// Writes the points of an export: a table for people, or one of the formats for programs.
private struct ExportWriter {
    var writer: HistoryWriter
    /// The writer of the table for people, which the format `text` uses; `nil` for the other formats.
    var lines: HistoryLines?

    mutating func begin() -> [UInt8] { self.writer.begin() }
    mutating func interrupt() -> [UInt8] { self.writer.interrupt() }
    mutating func finish() -> [UInt8] { self.writer.finish() }

    mutating func append(_ point: Location) -> [UInt8] {
        self.lines?.append(point) ?? self.writer.append(point)
    }

    mutating func append(_ point: MatchedPoint) -> [UInt8] {
        self.lines?.append(point) ?? self.writer.append(point)
    }
}

/// The progress of reading the points of a time span from the history: the part of the span that was read.
struct TimeShare {
    /// The end of the time span whose points are read; `nil` if it is unknown, so that no progress can be shown.
    let end: UnixTime?
    private var start: UnixTime?

    init(end: UnixTime?) { self.end = end }

    /// Updates the progress after a page of points was read, and returns it as a progress bar in percent. Returns `nil`
    /// while the length of the time span is unknown or 0.
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
