import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// The texts for the cells of a table for people that describe one position: place, time, speed, bearing and others.
struct PositionCells {
    let point: Location
    let units: DisplayUnits

    /// The latitude and longitude of the position in degrees, with five decimals (about one metre):
    /// `52.66380,-8.62670`.
    var place: String { Self.text(self.point.coordinate) }
    var time: String { TimeText.localDate(self.point.time) }
    var speed: String { Self.text(self.point.speed) { self.units.speed($0) } }
    var bearing: String { Self.text(self.point.bearing) { "\($0.text(digits: 0))°" } }
    var altitude: String { Self.text(self.point.altitude) { self.units.length(Meters($0)) } }
    var accuracy: String { Self.text(self.point.accuracyHorizontal) { "±" + self.units.length(Meters($0)) } }
    var battery: String { Self.text(self.point.batteryLevel) { "\(($0 * 100).text(digits: 0)) %" } }
    /// The number of the position's record in its stream; `–` if the position has no number.
    var number: String { self.point.seq.map(String.init) ?? TextTable.none }

    /// Returns a latitude and a longitude in degrees with five decimals: `52.66380,-8.62670`.
    static func text(_ place: Coordinate) -> String {
        "\(place.latitude.text(digits: 5)),\(place.longitude.text(digits: 5))"
    }

    private static func text(_ value: Double?, _ text: (Double) -> String) -> String {
        value.map(text) ?? TextTable.none
    }
}

/// The table of `godwit last`: a row for each trackable with its last position.
struct LastTable {
    private var table: TextTable
    private let units: DisplayUnits
    private let now: UnixTime
    /// The place from which the distances are measured; `nil` for a table without distances.
    private let center: Coordinate?

    init(units: DisplayUnits, now: UnixTime, center: Coordinate?) {
        (self.units, self.now, self.center) = (units, now, center)
        var columns: [TextColumn] = [.text("trackable", cutTo: 16), .value("age"), .value("position", .left)]
        if center != nil { columns.append(.value("distance")) }
        columns += [
            .value("speed", omission: 6), .value("time", .left, omission: 5), .value("bearing", omission: 4),
            .value("battery", omission: 3), .value("accuracy", omission: 2), .value("altitude", omission: 1),
        ]
        self.table = TextTable(columns)
    }

    /// Appends a row for one trackable and its last position to the table of `godwit last`.
    mutating func append(_ position: LastPosition) {
        let cells = PositionCells(point: position.location, units: self.units)
        let distance = self.center.map { self.units.distance(position.location.coordinate.distance(to: $0)) }
        let age = AgeText.text(self.now.since(position.location.time).inSeconds)
        self.table.append(
            [position.trackable.rawValue, age, cells.place] + [distance].compactMap(\.self) + [
                cells.speed, cells.time, cells.bearing, cells.battery, cells.accuracy, cells.altitude,
            ])
    }

    /// Returns the table of `godwit last` as text.
    ///
    /// - Parameter limit: The largest width of a line, in terminal columns; `nil` for no limit.
    func text(limit: Int?) -> String { self.table.text(limit: limit) }
}

/// The lines of `godwit history` for people, one for each point. The widths of the columns are fixed, so that each line
/// is written when its point is read.
struct HistoryLines {
    private let layout: TextLayout
    private let units: DisplayUnits
    private var isFirst = true

    /// Creates the layout of the lines of `godwit history`.
    ///
    /// - Parameters:
    ///   - limit: The largest width of a line, in terminal columns; `nil` for no limit.
    ///   - isMatched: `true` for points that were matched with roads. The last column then has the road.
    init(units: DisplayUnits, limit: Int?, isMatched: Bool = false) {
        self.units = units
        let road: TextColumn = limit == nil ? .value("road", .left) : .text("road", cutTo: 12, width: 32)
        self.layout = TextLayout(
            [
                .value("time", .left, width: 26), .value("position", .left, width: 20),
                .value("speed", width: 11, omission: 6), .value("altitude", width: 8, omission: 5),
                .value("bearing", omission: 4), .value("accuracy", width: 9, omission: 3),
                .value("battery", omission: 2), .value("number", width: 8, omission: 1),
            ] + (isMatched ? [road] : []), limit: limit)
    }

    /// Returns the line of one point of `godwit history`, with its line end. Before the first point, the result begins
    /// with the line of column names.
    mutating func append(_ point: Location) -> [UInt8] { self.line(point, []) }

    /// Returns the line of one point that was matched with a road, as ``append(_:)-(Location)`` does.
    mutating func append(_ point: MatchedPoint) -> [UInt8] {
        let road = point.confidence == .offRoad ? "off the road" : point.road ?? TextTable.none
        return self.line(point.location, [road])
    }

    private mutating func line(_ point: Location, _ road: [String]) -> [UInt8] {
        let cells = PositionCells(point: point, units: self.units)
        let line = self.layout.line(
            [
                cells.time, cells.place, cells.speed, cells.altitude, cells.bearing, cells.accuracy, cells.battery,
                cells.number,
            ] + road)
        defer { self.isFirst = false }
        return Array(((self.isFirst ? self.layout.header + "\n" : "") + line + "\n").utf8)
    }
}
