import GodwitOptions
import Testing
import TrackingCore
import TrackingHistory
import TrackingStore

@testable import godwit

/// The tables of positions and trips for people.
@Suite struct PositionTableTests {
    private func point(at time: Double = 1_790_000_000) throws -> Location {
        var point = Location(
            coordinate: try #require(Coordinate(latitude: -33.123456, longitude: 151.000004)), time: UnixTime(time))
        (point.speed, point.bearing, point.altitude) = (33, 359.6, -12.4)
        (point.accuracyHorizontal, point.batteryLevel, point.seq) = (4.9, 0.8, 17)
        return point
    }

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    @Test func theLastPositionsHaveTheChosenUnitsAndAnAge() throws {
        var table = LastTable(units: .imperial, now: UnixTime(1_790_000_045), center: nil)
        table.append(LastPosition(trackable: try TrackableID("van-7"), location: try self.point()))
        let bare = Location(coordinate: try #require(Coordinate(latitude: 0, longitude: 0)), time: UnixTime(0))
        table.append(LastPosition(trackable: try TrackableID("b"), location: bare))
        let lines = self.lines(table.text(limit: nil))
        #expect(lines[0].split(separator: " ").first == "trackable")
        let time = TimeText.localDate(UnixTime(1_790_000_000))
        #expect(
            lines[1]
                == "van-7      45 s  -33.12346,151.00000  73.8 mph  \(time)     360°     80 %    ±16 ft    -41 ft")
        #expect(lines[2].hasPrefix("b          56 y  0.00000,0.00000             –  "), "\(lines[2])")
        #expect(self.lines(table.text(limit: 80)).allSatisfy { $0.columns <= 80 })
        #expect(self.lines(table.text(limit: 52))[1] == "van-7      45 s  -33.12346,151.00000  73.8 mph")
    }

    @Test func nearAPlaceTheDistanceIsShownFirst() throws {
        let center = try #require(Coordinate(latitude: -33.123456, longitude: 151.1))
        var table = LastTable(units: .metric, now: UnixTime(1_790_000_045), center: center)
        table.append(LastPosition(trackable: try TrackableID("van-7"), location: try self.point()))
        #expect(self.lines(table.text(limit: 50))[1] == "van-7      45 s  -33.12346,151.00000    9.3 km")
    }

    /// Each line is written before the next point is known, so that the widths are fixed.
    @Test(arguments: [80, 120, nil]) func theLinesOfAHistoryAreAligned(limit: Int?) throws {
        var lines = HistoryLines(units: .metric, limit: limit)
        var bare = Location(coordinate: try #require(Coordinate(latitude: 1, longitude: 2)), time: UnixTime(1))
        bare.seq = 4_000_000_000
        let text = String(decoding: lines.append(try self.point()) + lines.append(bare), as: UTF8.self)
        let rows = self.lines(text)
        #expect(rows.count == 3 && rows[0].hasPrefix("time                        position"))
        #expect(rows[1].contains("-33.12346,151.00000    118.8 km/h"), "\(rows[1])")
        #expect(rows[2].contains("1.00000,2.00000                 –"), "\(rows[2])")
        if let limit { #expect(rows.allSatisfy { $0.columns <= limit }, "\(text)") }
        #expect(rows[0].hasSuffix("number") == (limit != 80) && rows[0].contains("bearing"))
    }

    @Test(arguments: [80, 120, nil]) func theRoadOfAMatchedPointIsTheLastColumn(limit: Int?) throws {
        var lines = HistoryLines(units: .metric, limit: limit, isMatched: true)
        var point = MatchedPoint(try self.point())
        let name = "Straße des Siebzehnten Juni im Westen der Stadt"
        (point.road, point.confidence) = (name, .matched)
        let off = MatchedPoint(try self.point())
        let rows = self.lines(String(decoding: lines.append(point) + lines.append(off), as: UTF8.self))
        #expect(rows[0].hasSuffix("  road"))
        #expect(rows[1].hasSuffix(limit == nil ? name : "…"), "\(rows[1])")
        #expect(rows[2].hasSuffix("  off the road"))
        if let limit { #expect(rows.allSatisfy { $0.columns <= limit }, "\(rows)") }
    }

    @Test func ofTripsAndStopsThePlacesAreOmittedBeforeTheNumbers() throws {
        var table = TripTable(units: .metric)
        var trip = Trip(
            id: "t-1", mode: "car", start: UnixTime(1_790_000_000), stream: try #require(StreamID("s")), seq: 1)
        (trip.end, trip.distance, trip.duration) = (UnixTime(1_790_000_800), 8900, 800)
        table.append(TripRow(.recorded(trip, topSpeed: 33)))
        let wide = self.lines(table.text(limit: nil))
        #expect(
            wide[1].hasSuffix("recorded   0:13:20    8.9 km  40.1 km/h  118.8 km/h  –     –   car   t-1"), "\(wide[1])")
        let narrow = self.lines(table.text(limit: 80))
        let start = TimeText.localDate(UnixTime(1_790_000_000))
        #expect(narrow[1].hasPrefix(start) && narrow[1].contains("118.8 km/h"), "\(narrow[1])")
        #expect(narrow.allSatisfy { $0.columns <= 80 })
    }

    @Test func theDistanceAlongTheRoadsIsBesideTheOther() throws {
        var table = TripTable(units: .metric, hasRoads: true)
        var trip = Trip(
            id: "t-1", mode: "car", start: UnixTime(1_790_000_000), stream: try #require(StreamID("s")), seq: 1)
        (trip.end, trip.distance, trip.duration) = (UnixTime(1_790_000_800), 8900, 800)
        var row = TripRow(.recorded(trip, topSpeed: 33))
        table.append(row)
        row.roadDistance = 8100
        table.append(row)
        let wide = self.lines(table.text(limit: nil))
        #expect(wide[0].contains("  distance  by road  "))
        #expect(wide[1].contains("8.9 km        –  40.1 km/h") && wide[2].contains("8.9 km   8.1 km  40.1 km/h"))
        #expect(row.value["roadDistance"] == .number(8100))
    }
}
