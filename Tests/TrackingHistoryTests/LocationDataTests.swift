import Testing
import TrackingCore
import TrackingHistory

/// NextBillion.ai's `LocationData` as a format of exports and imports. The members are those of its pages "Data
/// reporting".
@Suite struct LocationDataTests {
    @Test func anExportIsAListOfLocationData() throws {
        let text = try written([Points.full(), Points.at(-0.5, 1, -2)], .nextbillion)
        #expect(
            text == """
                [
                {"location":{"lat":52.629151,"lon":-8.661746},"timeStamp":1777887000,"accuracy":4.1,"speed":8.2,\
                "bearing":187.5,"altitude":19.5,"battery_level":83,"tracking_mode":"BALANCED"},
                {"location":{"lat":1,"lon":-2},"timeStamp":-1}
                ]

                """)
        #expect(try JSONValue(json: Array(try written([], .nextbillion).utf8)) == .list([]))
    }

    @Test func anExportIsRead() throws {
        let points = Points.walk(50, seed: 6)
        let (events, failure) = read(try written(points, .nextbillion), .nextbillion)
        #expect(failure == nil && events.refusals.isEmpty)
        let expected = points.map { point in
            var point = NextBillionLocation(point).location
            point.time = UnixTime(point.time.seconds.rounded(.down))
            return point
        }
        #expect(events.fixes == expected)
    }

    @Test func everyMemberIsRead() throws {
        let (events, failure) = read(Samples.nextBillion, .nextbillion)
        #expect(failure == nil)
        #expect(events.refusals == ["line 6: the LocationData has no location"])
        #expect(events.fixes.count == 3)
        let first = try #require(events.fixes.first)
        #expect(first.coordinate == Points.at(0, 52.629151, -8.661746).coordinate)
        #expect(first.time == UnixTime(1_777_887_000) && first.accuracyHorizontal == 4.1 && first.speed == 8.2)
        #expect(first.bearing == 187.5 && first.altitude == 19.5 && first.batteryLevel == 0.55 && first.mode == .active)
        #expect(first.extra == Array(#"{"meta_data":{"driver": "MyNet"}}"#.utf8))
        let second = events.fixes[1]
        #expect(second.time == UnixTime(1_777_887_001.25) && second.mode == .custom)
        #expect(second.speed == nil && second.bearing == nil && second.batteryLevel == 0.01)
        #expect(events.fixes[2].mode == nil && events.fixes[2].extra == Array(#"{"tracking_mode":"FAST"}"#.utf8))
    }

    /// iOS marks a fix without a position by a negative accuracy.
    @Test func aFixWithoutAPositionIsRejected() {
        let text = #"[{"location":{"lat":1,"lon":2},"timeStamp":5,"accuracy":-1},{"timeStamp":5},7]"#
        let (events, failure) = read(text, .nextbillion)
        #expect(events.fixes.isEmpty && failure == nil && events.refusals.count == 3)
        #expect(events.refusals.first?.contains("its accuracy is below 0") == true)
    }

    @Test func aFileWithoutJSONIsNamedByItsFormat() {
        #expect(read("", .nextbillion).failure?.message.contains("LocationData") == true)
    }
}

extension Samples {
    static let nextBillion = """
        {"device_id":"d1","locations":[
        {"location":{"lat":52.629151,"lon":-8.661746},"timeStamp":1777887000,"accuracy":4.1,"speed":8.2,"bearing":187.5,
        "altitude":19.5,"battery_level":55,"tracking_mode":"ACTIVE","meta_data":{"driver": "MyNet"}},
        {"location":{"latitude":52.63,"longitude":-8.66},"timestamp":1777887001250,"speed":-1,"bearing":-1,"battery_level":1,
        "tracking_mode":"custom"},
        {"timeStamp":1777887002}
        ]}
        {"location":{"lat":"52.64","lon":"-8.66"},"timeStamp":1777887003,"tracking_mode":"FAST"}
        """
}
