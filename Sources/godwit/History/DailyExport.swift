import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// Exports the points of all trackables as CSV to a directory, with one file for each day. It keeps only one page of
/// points in memory.
struct DailyExport {
    let days: ExportedDays

    /// The outcome of an export by day: the numbers of points, trackables and files.
    struct Summary: Equatable {
        /// The number of points that were written.
        var points = 0
        /// The number of trackables that have at least one of the points.
        var trackables = 0
        /// The number of files that were written.
        var files = 0

        /// The outcome as text for people.
        var text: String {
            guard self.points > 0 else { return "0 points written" }
            return "\(counted(self.points, "point")) of \(counted(self.trackables, "trackable")) written to "
                + counted(self.files, "file")
        }
    }

    private static let page = 1000

    /// Writes the points to the files of their days, and returns the outcome. In each file the points are in the order
    /// of the ids of their trackables, then in the order of time.
    ///
    /// - Throws: The errors of the history and of the directory.
    func run(_ store: any HistoryStore, to directory: OutputDirectory) async throws -> Summary {
        var summary = Summary()
        var last: TrackableID?
        while true {
            let page = try await store.trackables(after: last, limit: Self.page)
            for trackable in page {
                let points = try await self.write(trackable.id, of: store, to: directory)
                summary.points += points
                summary.trackables += points > 0 ? 1 : 0
            }
            // A page may have fewer trackables than the limit, because ids that cannot be read are left out.
            guard let next = page.last?.id else { break }
            last = next
        }
        summary.files = directory.count
        return summary
    }

    /// Writes the points of one trackable, and returns their number.
    private func write(
        _ trackable: TrackableID, of store: any HistoryStore, to directory: OutputDirectory
    ) async throws -> Int {
        var writer = HistoryWriter(.csv, of: trackable)
        let header = writer.begin()
        var (day, count): (CalendarDay?, Int) = (nil, 0)
        try await store.readAll(PointQuery(trackable, during: self.days.times)) { page in
            for point in page.map(\.location) {
                let next = CalendarDay(point.time)
                guard self.days.contains(next) else { continue }
                if next != day { try directory.select("\(next.name).csv", header: header) }
                try directory.write(writer.append(point))
                (day, count) = (next, count + 1)
            }
        }
        return count
    }
}

/// The days of an export: each day in UTC that has a moment of a time span.
struct ExportedDays: Equatable {
    private let first: CalendarDay?
    private let last: CalendarDay?

    /// Makes the days that have a moment of a time span. A span without a beginning or an end has all earlier or later
    /// days.
    init(_ span: TimeSpan) {
        self.first = span.from.map { CalendarDay($0) }
        self.last = span.to.map { end in
            let day = CalendarDay(end)
            // The span excludes its end.
            return day.start < end ? day : day.previous
        }
    }

    /// Returns `true` if a day belongs to these days.
    func contains(_ day: CalendarDay) -> Bool {
        if let first = self.first, day < first { return false }
        if let last = self.last, day > last { return false }
        return true
    }

    /// A time span that contains all moments of the days. It begins a second early, because a moment just before
    /// midnight can belong to the next day.
    var times: TimeSpan {
        TimeSpan(
            from: self.first.map { UnixTime($0.start.seconds - 1) }, to: self.last.map { $0.next.start })
    }
}
