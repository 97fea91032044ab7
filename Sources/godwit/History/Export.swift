import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingStore

/// `godwit export`: writes the points of all trackables as CSV, with one file for each day.
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Export the recorded points of all trackables as CSV, one file a day.",
        discussion: """
            The name of a file is the date of its day in UTC, as 2026-05-04.csv. --from, --to and --last select whole \
            days: each day that has a moment of the span. The files appear when all are complete, and replace those of \
            the same days. A day without points has no file.

            Example:
              godwit export points --last 7d
            """)

    @Argument(
        help: ArgumentHelp("The directory of the files. It is made if it does not exist.", valueName: "directory"))
    var directory: String

    @OptionGroup var span: SpanOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        // A user may expect "-" to be standard output, as for other commands.
        guard self.directory != "-" else {
            throw ValidationError(
                "days cannot be exported to standard output. Name a directory, or ./- for a directory of that name"
            )
        }
    }

    func run() async throws {
        let export = DailyExport(days: ExportedDays(try self.span.times(now: TimeText.now)))
        let summary = try await self.store.use { store in
            let directory = try OutputDirectory(self.directory)
            let summary = try await export.run(store, to: directory)
            try directory.finish()
            return summary
        }
        try Output.print(summary.text + "\n")
    }
}
