import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit trips`: lists the trips and stops of a trackable.
struct Trips: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the trips and stops of a trackable.",
        usage: "godwit trips [<options>] <id>",
        discussion: """
            The list contains the recorded trips, and between them trips and stops found in the points. Exit code 1: \
            nothing is stored of the trackable.
            """)

    @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
    var id: TrackableID

    @OptionGroup var span: SpanOptions

    @Option(
        help: ArgumentHelp(
            "Count a stay within this many metres of a place, above 0, as a stop.", valueName: "metres"))
    var stopRadius = 200.0

    @Option(help: ArgumentHelp("Count a stay of at least this many seconds, above 0, as a stop.", valueName: "seconds"))
    var stopTime = 180.0

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
        let times = try self.span.times(now: TimeText.now)
        let printer = TripPrinter(format: self.format, units: self.units.units)
        let file = try OutputFile(nil)
        try await self.store.use { store in
            var listing = try TripListing(
                recorded: try await store.allTrips(of: self.id, during: times), from: times.from, to: times.to,
                rules: self.rules())
            let query = PointQuery(self.id, during: TimeSpan(from: listing.from, to: listing.to))
            var isEmpty = true
            try await store.readAll(query) { page in
                for point in page where !point.hasClockFault {
                    isEmpty = false
                    for entry in listing.append(point.location) { try file.write(printer.line(entry)) }
                }
            }
            for entry in listing.finish() {
                isEmpty = false
                try file.write(printer.line(entry))
            }
            if isEmpty, try await isNothingStored(of: self.id, in: store) { try nothingIsStored(of: self.id) }
        }
        try file.finish()
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

/// Converts trips and stops to text for people or to JSON.
struct TripPrinter {
    let format: ListFormat
    let units: DisplayUnits

    /// Returns a trip or a stop as one line of text or JSON, with its line end.
    func line(_ entry: TripListing.Entry) -> [UInt8] {
        let row = TripRow(entry)
        return self.format == .text ? Array((self.text(row) + "\n").utf8) : Self.json(row)
    }

    private static func json(_ row: TripRow) -> [UInt8] {
        Array((String(decoding: row.value.json, as: UTF8.self).printableJSON + "\n").utf8)
    }

    private func text(_ row: TripRow) -> String {
        var parts = [
            TimeText.rfc3339(row.start), row.end.map(TimeText.rfc3339) ?? "–", row.kind,
            WatchPrinter.clock(row.duration),
        ]
        if let distance = row.distance { parts.append(self.units.distance(Meters(distance))) }
        if let speed = row.averageSpeed { parts.append("average \(self.units.speed(speed))") }
        if let speed = row.topSpeed { parts.append("top \(self.units.speed(speed))") }
        parts.append(row.places.map { $0.map(Self.text) ?? "–" }.joined(separator: " to "))
        if let trip = row.trip { parts.append("\(trip.mode.printable) \(trip.id.printable)") }
        return parts.joined(separator: "  ")
    }

    private static func text(_ place: Coordinate) -> String {
        "\(place.latitude.text(digits: 6)),\(place.longitude.text(digits: 6))"
    }
}
