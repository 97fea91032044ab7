import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit trips`: trips and stops of a trackable.
struct Trips: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the trips of a trackable, and its stops.",
        discussion: """
            The trips that were recorded, and the trips and stops that are found in the points of the time between them. Exit \
            code 1 where nothing is stored of the trackable.
            """)

    @Argument(help: "Whose.", transform: TrackableID.checked)
    var id: TrackableID

    @OptionGroup var span: SpanOptions

    @Option(
        help: ArgumentHelp(
            "It has stopped while it stays within so many metres of a place, above 0.", valueName: "metres"))
    var stopRadius = 200.0

    @Option(help: ArgumentHelp("It has stopped after so many seconds there, above 0.", valueName: "seconds"))
    var stopTime = 180.0

    @Option(help: ArgumentHelp("text, or json: an object a line.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup var units: UnitsOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    /// So many recorded trips are read at once.
    private static let page = 1000

    func validate() throws {
        let rules = try self.rules()
        _ = try checked { () throws(TrackingError) in try TripDetector(rules: rules) }
    }

    func run() async throws {
        let query = PointQuery(self.id, during: try self.span.times(now: TimeText.now))
        let printer = TripPrinter(format: self.format, units: self.units.units)
        let file = try OutputFile(nil)
        try await self.store.use { store in
            var listing = try TripListing(recorded: try await self.recorded(store, query.times), rules: self.rules())
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
            if isEmpty, try await store.verify(self.id) == nil { try nothingIsStored(of: self.id) }
        }
        try file.finish()
    }

    private func recorded(_ store: any HistoryStore, _ times: TimeSpan) async throws -> [Trip] {
        var trips: [Trip] = []
        var rest = times
        while true {
            let page = try await store.trips(of: self.id, during: rest, limit: Self.page)
            trips += page
            guard page.count == Self.page, let last = page.last else { return trips }
            rest.from = UnixTime(last.start.seconds.nextUp)
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

/// Trips and stops as lines.
struct TripPrinter {
    let format: ListFormat
    let units: DisplayUnits

    /// A trip or stop, line end included.
    func line(_ entry: TripListing.Entry) -> [UInt8] {
        let row = Row(entry)
        return Array(((self.format == .text ? self.text(row) : row.json) + "\n").utf8)
    }

    private func text(_ row: Row) -> String {
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

    /// What is told of either.
    private struct Row {
        /// `recorded`, `trip` or `stop`.
        var kind: String
        var trip: Trip?
        var start: UnixTime
        var end: UnixTime?
        var duration: Double
        var distance: Double?
        var averageSpeed: Double?
        var topSpeed: Double?
        /// Start and end of a trip, the middle of a stop.
        var places: [Coordinate?]

        init(_ entry: TripListing.Entry) {
            switch entry {
            case .recorded(let trip, let topSpeed):
                self.kind = "recorded"
                self.trip = trip
                (self.start, self.end) = (trip.start, trip.end)
                (self.duration, self.distance) = (trip.duration, trip.distance)
                self.averageSpeed = trip.duration > 0 ? trip.distance / trip.duration : nil
                self.topSpeed = topSpeed
                self.places = [trip.startLocation?.coordinate, trip.lastLocation?.coordinate]
            case .found(.trip(let trip)):
                self.kind = "trip"
                (self.start, self.end) = (trip.start.time, trip.end.time)
                (self.duration, self.distance) = (trip.duration.inSeconds, trip.distance.value)
                (self.averageSpeed, self.topSpeed) = (trip.averageSpeed, trip.topSpeed)
                self.places = [trip.start.coordinate, trip.end.coordinate]
            case .found(.stop(let stop)):
                self.kind = "stop"
                (self.start, self.end) = (stop.start.time, stop.end.time)
                self.duration = stop.duration.inSeconds
                self.places = [stop.place]
            }
        }

        var json: String {
            var members: [String: JSONValue] = [
                "kind": .text(self.kind == "stop" ? "stop" : "trip"), "recorded": .flag(self.trip != nil),
                "start": .number(self.start.seconds), "duration": .number(self.duration),
            ]
            members["end"] = self.end.map { .number($0.seconds) }
            members["distance"] = self.distance.map { .number($0) }
            members["averageSpeed"] = self.averageSpeed.map { .number($0) }
            members["topSpeed"] = self.topSpeed.map { .number($0) }
            members["tripId"] = self.trip.map { .text($0.id) }
            members["mode"] = self.trip.map { .text($0.mode) }
            for (name, place) in zip(self.places.count == 1 ? ["place"] : ["from", "to"], self.places) {
                members[name] = place.map { .list([.number($0.longitude), .number($0.latitude)]) }
            }
            return String(decoding: JSONValue.object(members).json, as: UTF8.self)
        }
    }
}
