import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingHistory
import TrackingStore

/// `godwit trips`: lists the recorded trips of a trackable, and the trips and stops that are found in its points
/// between them.
struct Trips: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the trips and stops of a trackable.",
        usage: "godwit trips [<options>] <id>",
        discussion: """
            The list contains the recorded trips, and between them trips and stops found in the points. With \
            --engine, it also has the distance of each trip along the roads. Exit code 1: nothing is stored of the \
            trackable.

            Example:
              godwit trips van-7 --last 7d
            """)

    @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
    var id: TrackableID

    @OptionGroup var span: SpanOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Count a stay within this many metres of a place, above 0, as a stop.", valueName: "metres"))
    var stopRadius = 200.0

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Count a stay of at least this many seconds, above 0, as a stop.", valueName: "seconds"))
    var stopTime = 180.0

    @OptionGroup var roads: RoadOptions

    @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup var units: UnitsOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        let rules = try self.rules()
        _ = try checked { () throws(TrackingError) in try TripDetector(rules: rules) }
    }

    func run() async throws {
        try await self.list(by: try self.roads.routingEngine())
    }

    /// Prints the list.
    ///
    /// - Parameter engine: The routing engine that measures distances along the roads; `nil` for none.
    private func list(by engine: (any RoadEngine)?) async throws {
        let times = try self.span.times(now: TimeText.now)
        let file = try OutputFile(nil)
        var table = TripTable(units: self.units.units, hasRoads: engine != nil)
        try await self.store.use { store in
            func add(_ entry: TripListing.Entry) async throws {
                var row = TripRow(entry)
                if let engine { try await row.measureRoads(of: self.id, in: store, by: engine) }
                try self.add(row, to: &table, file)
            }
            var listing = try TripListing(
                recorded: try await store.allTrips(of: self.id, during: times), from: times.from, to: times.to,
                rules: self.rules())
            let query = PointQuery(self.id, during: TimeSpan(from: listing.from, to: listing.to))
            var isEmpty = true
            try await store.readAll(query) { page in
                for point in page where !point.hasClockFault {
                    isEmpty = false
                    for entry in listing.append(point.location) { try await add(entry) }
                }
            }
            for entry in listing.finish() {
                isEmpty = false
                try await add(entry)
            }
            if isEmpty, try await isNothingStored(of: self.id, in: store) {
                try await nothingIsStored(of: self.id, in: store)
            }
        }
        try file.write(Array(table.text(limit: Terminal.tableWidth).utf8))
        try file.finish()
    }

    /// Adds a trip or a stop to the table for people, or writes it to the output as a JSON object.
    private func add(_ row: TripRow, to table: inout TripTable, _ file: OutputFile) throws {
        switch self.format {
        case .text: table.append(row)
        case .json:
            try file.write(Array((String(decoding: row.value.json, as: UTF8.self).printableJSON + "\n").utf8))
        }
    }

    private func rules() throws -> TripDetector.Rules {
        guard self.stopTime > 0, self.stopTime <= 31_536_000 else {
            throw ValidationError("--stop-time must be above 0 s and at most 365 days, not \(self.stopTime)")
        }
        guard self.stopRadius > 0, self.stopRadius <= 20_100_000 else {
            throw ValidationError("--stop-radius must be above 0 m and at most 20,100,000 m, not \(self.stopRadius)")
        }
        var rules = TripDetector.Rules()
        rules.stopRadius = Meters(self.stopRadius)
        rules.stopDuration = .seconds(self.stopTime)
        return rules
    }
}

/// The table of `godwit trips`: a row for each trip or stop.
struct TripTable {
    private var table: TextTable
    let units: DisplayUnits
    /// `true` for a table with the distances along the roads.
    let hasRoads: Bool

    init(units: DisplayUnits, hasRoads: Bool = false) {
        (self.units, self.hasRoads) = (units, hasRoads)
        self.table = TextTable(
            [
                .value("start", .left), .value("end", .left, omission: 3), .value("kind", .left), .value("duration"),
                .value("distance"),
            ] + (hasRoads ? [.value("by road")] : []) + [
                .value("average", omission: 7), .value("top", omission: 6),
                .value("from", .left, omission: 5), .value("to", .left, omission: 4),
                .text("mode", cutTo: 10, omission: 2), .text("trip", cutTo: 12, omission: 1),
            ])
    }

    /// Appends a row for one trip or stop to the table of `godwit trips`.
    mutating func append(_ row: TripRow) {
        let places = row.places.map { $0.map(PositionCells.text) ?? TextTable.none }
        let distances = [row.distance] + (self.hasRoads ? [row.roadDistance] : [])
        let beginning = [
            TimeText.localDate(row.start), row.end.map(TimeText.localDate) ?? TextTable.none, row.kind,
            WatchPrinter.clock(row.duration),
        ]
        let lengths = distances.map { $0.map { self.units.distance(Meters($0)) } ?? TextTable.none }
        self.table.append(
            beginning + lengths + [
                row.averageSpeed.map { self.units.speed($0) } ?? TextTable.none,
                row.topSpeed.map { self.units.speed($0) } ?? TextTable.none,
                places.first ?? TextTable.none, places.count > 1 ? places[1] : TextTable.none,
                row.trip?.mode ?? TextTable.none, row.trip?.id ?? TextTable.none,
            ])
    }

    /// Returns the table of `godwit trips` as text.
    ///
    /// - Parameter limit: The largest width of a line, in terminal columns; `nil` for no limit.
    func text(limit: Int?) -> String { self.table.text(limit: limit) }
}
