import GodwitOptions
import TrackingCore
import TrackingStore

/// The numbers of recorded and lost records of the demo's van, for the summary at its end.
struct DemoTotals: Hashable, Sendable {
    /// The number of the van's points in the history.
    let points: Int
    /// The number of the van's records that are not in the history: every number up to the highest one that arrived
    /// live or that the history knows, and that is not stored.
    let lost: Int

    /// Computes the numbers from a report on the history.
    ///
    /// - Parameters:
    ///   - report: The report on the van's records.
    ///   - live: The numbers of the positions that arrived live. The history must have them too.
    init(_ report: VerifyReport, live: Set<UInt64>) {
        self.points = report.points
        // The agent of the demo runs once, so its records are in one stream.
        let lastLive = report.streams.count == 1 ? live.max() : nil
        self.lost = report.streams.reduce(0) { lost, stream in
            let highest = max(stream.coverage.ranges.map(\.seqs.upperBound).max() ?? 0, lastLive ?? 0)
            return lost + Int(clamping: highest) - stream.coverage[.stored].count
        }
    }

    /// Returns the lines of the summary for these numbers; without numbers, a line that says so.
    static func lines(for totals: DemoTotals?) -> String {
        guard let totals else { return "  recorded: unknown, because the demo has no history yet" }
        let place = totals.lost == 0 ? ", all of them in the history" : " in the history"
        return "  recorded: \(counted(totals.points, "point"))\(place)\n  lost: \(totals.lost)"
    }
}
