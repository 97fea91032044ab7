import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit history`: exports the points of a trackable in many formats.
struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Export the recorded points of a trackable.",
        usage: "godwit history [<options>] <id>",
        discussion: """
            Points are written as they are read, in bounded memory. Text is a table for people, which omits columns \
            that do not fit into the terminal. --max-points leaves out the points that matter least, and reports on \
            standard error how far off the track may be. --matched puts the points on the road. Exit code 1: nothing \
            is stored of the trackable.

            Example:
              godwit history van-7 --last 2h --format gpx --output today.gpx
            """)

    @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
    var id: TrackableID

    @OptionGroup var span: SpanOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Export only points in this box, in degrees; west may be greater than east.",
            valueName: "west,south,east,north"),
        transform: GeoBox.checked)
    var bbox: GeoBox?

    @Option(help: ArgumentHelp("Export only points of this trip.", valueName: "trip id"))
    var trip: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Export at most this many points, 2 to 1000000.", valueName: "n"))
    var maxPoints: Int?

    @Flag(help: "Match the points with roads, by the routing engine of --engine.")
    var matched = false

    @OptionGroup var roads: RoadOptions

    @Option(
        help: ArgumentHelp(
            "Write text, json, geojson, gpx, kml, csv, mfjson, nextbillion or ably.", valueName: "format"))
    var format = HistoryFormat.text

    @Option(help: ArgumentHelp("Write to this file. Default: standard output.", valueName: "path"))
    var output: String?

    @OptionGroup var units: UnitsOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        if let most = self.maxPoints {
            _ = try checked { () throws(TrackingError) in try HistorySimplifier(maximumPoints: most) }
        }
        guard self.matched else { return }
        if self.roads.engine == nil {
            throw ValidationError(
                "--matched needs a routing engine. Name it with --engine valhalla:http://HOST:PORT, or with the key engine in the configuration file"
            )
        }
        if self.maxPoints != nil {
            throw ValidationError("--matched and --max-points exclude each other. Leave one of them out")
        }
    }

    func run() async throws {
        let times = try self.span.times(now: TimeText.now)
        let query = PointQuery(self.id, during: times, in: self.bbox, tripID: self.trip)
        let lines = HistoryLines(units: self.units.units, limit: self.width, isMatched: self.matched)
        let export = HistoryExport(
            query: query, format: self.format, maximumPoints: self.maxPoints,
            lines: self.format == .text ? lines : nil,
            engine: self.matched ? try self.roads.routingEngine() : nil)
        try await self.write(export)
    }

    private func write(_ export: HistoryExport) async throws {
        try await self.store.use { store in
            let file = try OutputFile(self.output)
            var progress = ErrorProgress(isWanted: self.output.map { $0 != "-" } ?? !Terminal.isOutput)
            defer { progress.clear() }
            let summary = try await export.run(store, to: file, &progress)
            if summary.found == 0, try await isNothingStored(of: self.id, in: store) {
                try await nothingIsStored(of: self.id, in: store)
            }
            try file.finish()
            progress.clear()
            if let note = summary.note { Program.note(note) }
        }
    }

    /// The largest width of a line of the text table, in terminal columns; `nil` for no limit. Only a table on a
    /// terminal has a limit.
    private var width: Int? { self.output.map { $0 == "-" } ?? true ? Terminal.tableWidth : nil }
}
