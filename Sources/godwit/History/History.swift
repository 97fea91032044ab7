import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit history`: the points of a trackable, in many formats.
struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Give the recorded points of a trackable back.",
        discussion: """
            It is written as it is read, in bounded memory. --max-points leaves out the points that show least, and says on \
            standard error how far off the others may be. Exit code 1 where nothing is stored of the trackable.
            """)

    @Argument(help: "Whose.", transform: TrackableID.checked)
    var id: TrackableID

    @OptionGroup var span: SpanOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only in this box, in degrees; west may be greater than east.", valueName: "west,south,east,north"),
        transform: GeoBox.checked)
    var bbox: GeoBox?

    @Option(help: ArgumentHelp("Only of this trip.", valueName: "trip id"))
    var trip: String?

    @Option(help: ArgumentHelp("At most so many points, 2 to 1000000.", valueName: "n"))
    var maxPoints: Int?

    @Option(help: ArgumentHelp("text, json, geojson, gpx, kml, csv or mfjson.", valueName: "format"))
    var format = HistoryFormat.text

    @Option(help: ArgumentHelp("The file, instead of standard output.", valueName: "path"))
    var output: String?

    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        if let most = self.maxPoints {
            _ = try checked { () throws(TrackingError) in try HistorySimplifier(maximumPoints: most) }
        }
    }

    func run() async throws {
        let times = try self.span.times(now: TimeText.now)
        let query = PointQuery(self.id, during: times, in: self.bbox, tripID: self.trip)
        let export = HistoryExport(query: query, format: self.format, maximumPoints: self.maxPoints)
        try await self.store.use { store in
            let file = try OutputFile(self.output)
            var progress = ErrorProgress(isWanted: self.output.map { $0 != "-" } ?? !Terminal.isOutput)
            defer { progress.clear() }
            let summary = try await export.run(store, to: file, &progress)
            if summary.found == 0, try await isNothingStored(of: self.id, in: store) {
                try nothingIsStored(of: self.id)
            }
            try file.finish()
            progress.clear()
            if let note = summary.note { Program.note(note) }
        }
    }
}
