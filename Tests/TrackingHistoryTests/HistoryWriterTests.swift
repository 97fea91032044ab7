import Testing
import TrackingCore
import TrackingHistory

@Suite struct HistoryWriterTests {
    @Test func textIsALineAPoint() throws {
        #expect(
            try written([Points.full(), Points.at(0, 1, -2)], .text)
                == "2026-05-04T09:30:00.25Z 52.629151,-8.661746 19.5 m 8.2 m/s 187.5° ±4.1 m #4711\n"
                + "1970-01-01T00:00:00Z 1,-2\n")
    }

    @Test func jsonLinesAreTheFeaturesOfTheWire() throws {
        let points = Points.walk(10, seed: 1)
        let lines = try written(points, .json).split(separator: "\n")
        // A line end in the white space of `extra` would cut the line.
        let expected = points.map { point in
            var point = point
            point.extra = point.extra.map { $0.map { $0 == 0x0A ? 0x20 : $0 } }
            return point
        }
        #expect(try lines.map { try LocationCodec.decodeFeature(Array($0.utf8)) } == expected)
    }

    @Test func geojsonKeepsEveryMember() throws {
        let points = Points.walk(3, seed: 2)
        let text = try written(points, .geojson)
        let value = try JSONValue(json: Array(text.utf8))
        #expect(value["type"]?.text == "FeatureCollection")
        let features = try #require(value["features"]?.list)
        #expect(
            try features.map { try LocationCodec.decodeFeature($0.json).unnamedExtra } == points.map(\.unnamedExtra))
        // Each Feature has a line of its own, and its `extra` the bytes that came.
        #expect(text.contains("\"extra\":{\"a\": \"x,y\",\n \"b\":[1,2]}"))
    }

    /// The member is beside the properties, so that readers of the points get the same points.
    @Test func geojsonMarksInterruptionsOfTheTrack() throws {
        let points = [Points.at(0, 1, -2), Points.at(10, 1, -2), Points.at(20, 1, -2)]
        var writer = HistoryWriter(.geojson, of: try TrackableID("van-7"))
        var bytes = writer.begin()
        for (index, point) in points.enumerated() {
            if index != 1 { bytes += writer.interrupt() }
            bytes += writer.append(point)
        }
        bytes += writer.finish()
        let features = try #require(try JSONValue(json: bytes)["features"]?.list)
        #expect(features.map { $0["interrupted"] } == [nil, nil, .flag(true)])
        #expect(try features.map { try LocationCodec.decodeFeature($0.json) } == points)
    }

    @Test(arguments: [HistoryFormat.geojson, .mfjson])
    func anEmptyCollectionIsValid(format: HistoryFormat) throws {
        let value = try JSONValue(json: Array(try written([], format).utf8))
        #expect(value == .object(["type": .text("FeatureCollection"), "features": .list([])]))
    }

    @Test func emptyHistoriesAreValidFiles() throws {
        #expect(try written([], .text).isEmpty && written([], .json).isEmpty)
        #expect(try written([], .gpx).hasSuffix("<trk><name>van-7</name>\n</trk>\n</gpx>\n"))
        #expect(try written([], .kml).hasSuffix("<Document><name>van-7</name>\n</Document>\n</kml>\n"))
        #expect(try written([], .csv).split(separator: "\r\n").count == 1)
    }

    /// The GPX schema accepts -180 and rejects 180.
    @Test func theAntimeridianOfGPXIsThatOfTheWest() throws {
        let text = try written([Points.at(0, 1, 180), Points.at(1, 1, -180), Points.at(2, 1, 179.5)], .gpx)
        let found = text.matches(of: #/lon="([^"]*)"/#).map { String($0.1) }
        #expect(found == ["-180", "-180", "179.5"])
    }

    @Test func aGPXPointHasTheMembersOfGPX() throws {
        let text = try written([Points.full(), Points.at(0.000001, 0.00001, -179.9999999)], .gpx, of: "a<b>&\"c\"")
        #expect(text.contains("<name>a&lt;b&gt;&amp;&quot;c&quot;</name>"))
        #expect(
            text.contains(
                """
                <trkpt lat="52.629151" lon="-8.661746"><ele>19.5</ele><time>2026-05-04T09:30:00.25Z</time><extensions>\
                <gpxtpx:TrackPointExtension><gpxtpx:speed>8.2</gpxtpx:speed><gpxtpx:course>187.5</gpxtpx:course>\
                </gpxtpx:TrackPointExtension></extensions></trkpt>
                """))
        #expect(
            text.contains(
                #"<trkpt lat="0.00001" lon="-179.9999999"><time>1970-01-01T00:00:00.000001Z</time></trkpt>"#))
    }

    @Test(arguments: [HistoryFormat.gpx, .kml, .mfjson])
    func aTrackIsInterruptedOnRequestAndWhereTheStreamEnds(format: HistoryFormat) throws {
        var points = Points.walk(6, seed: 3)
        for index in 4..<6 { points[index].stream = StreamID("another") }
        var writer = HistoryWriter(format, of: try TrackableID("x"))
        var bytes = writer.begin()
        for (index, point) in points.enumerated() {
            if index == 2 { bytes += writer.interrupt() + writer.interrupt() }
            bytes += writer.append(point)
        }
        let text = String(decoding: bytes + writer.finish(), as: UTF8.self)
        let mark = [HistoryFormat.gpx: "<trkseg>", .kml: "<Placemark>", .mfjson: "MovingPoint"][format] ?? ""
        #expect(text.split(separator: mark, omittingEmptySubsequences: false).count == 4)
    }

    @Test func controlCharactersDoNotReachXML() throws {
        // A trackable's id has no control characters, but may have characters that XML does not allow.
        let text = try written([], .kml, of: "a\u{FFFE}\u{FFFF}b")
        #expect(text.contains("a\u{FFFD}\u{FFFD}b"))
    }

    @Test(arguments: [1, 499, 500, 501, 999, 1000, 2500])
    func aLongKMLTrackIsInPiecesThatTouch(count: Int) throws {
        let text = try written(Points.walk(count, seed: 4), .kml)
        #expect(text.split(separator: "<Placemark>").count == 2)
        let tracks = text.split(separator: "<gx:Track>").dropFirst().map { track in
            track.split(separator: "\n").filter { $0.hasPrefix("<when>") }
        }
        #expect(zip(tracks, tracks.dropFirst()).allSatisfy { $0.last == $1.first })
        #expect(tracks.map(\.count).reduce(0, +) - (tracks.count - 1) == count)
        #expect(tracks.allSatisfy { $0.count <= 500 && ($0.count > 1 || count == 1) })
    }

    @Test func movingFeaturesHaveATimeForEachPlace() throws {
        let points = Points.walk(1200, seed: 5)
        let value = try JSONCollection(written(points, .mfjson))
        let moving = value.features.map { $0["temporalGeometry"] }
        #expect(moving.count == 3 && moving.allSatisfy { $0?["type"]?.text == "MovingPoint" })
        for geometry in moving {
            #expect(geometry?["datetimes"]?.list?.count == geometry?["coordinates"]?.list?.count)
        }
        #expect(
            value.features.first?["temporalGeometry"]?["coordinates"]?.list?.first
                == .list([.number(-8.661746), .number(52.629151), .number(19.5)]))
        #expect(value.features.first?["properties"]?["trackable"]?.text == "van-7")
    }

    @Test func movingFeaturesAreCutAtTheAntimeridianAndHaveEachTimeOnce() throws {
        let points = [
            Points.at(0, 10, 179.9), Points.at(1, 10, 179.95), Points.at(1, 11, 179.95), Points.at(2, 10, -179.9),
            Points.at(3, 10, -179.8),
        ]
        let value = try JSONCollection(written(points, .mfjson))
        let times = value.features.map { $0["temporalGeometry"]?["datetimes"]?.list?.compactMap(\.text) }
        #expect(
            times == [
                ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"], ["1970-01-01T00:00:02Z", "1970-01-01T00:00:03Z"],
            ])
    }

    @Test func aPartlyKnownAltitudeIsOmittedFromATrack() throws {
        var points = Points.walk(3, seed: 6)
        points[1].altitude = nil
        #expect(try written(points, .kml).contains("<altitudeMode>clampToGround</altitudeMode>"))
        let value = try JSONCollection(written(points, .mfjson))
        let places = value.features.first?["temporalGeometry"]?["coordinates"]?.list ?? []
        #expect(places.count == 3 && places.allSatisfy { $0.list?.count == 2 })
    }

    @Test func csvQuotesSpecialCharacters() throws {
        let lines = try written([Points.full()], .csv, of: "a \"b\", c")
        #expect(
            lines
                == "trackable,time,latitude,longitude,altitude,accuracy,speed,bearing,battery,stream,seq,"
                + "accuracyVertical,accuracyBearing,accuracySpeed,floor,mode,motion,tripId,source,extra\r\n"
                + "\"a \"\"b\"\", c\",2026-05-04T09:30:00.25Z,52.629151,-8.661746,19.5,4.1,8.2,187.5,0.83,k3f9q2wz,4711,"
                + "6,3,0.4,-2,BALANCED,driving stationary,\"7, \"\"the\"\" trip\",gps,"
                + "\"{\"\"a\"\": \"\"x,y\"\",\n \"\"b\"\":[1,2]}\"\r\n")
    }

    @Test func csvHasNoControlCharactersInTexts() throws {
        var point = Points.full()
        point.tripID = "a\u{1B}[2J\nb\u{202E}"
        point.extra = Array("{\"a\":\"\u{9B}\"}".utf8)
        let lines = try written([point], .csv).split(separator: "\r\n")
        #expect(lines.count == 2)
        #expect(
            lines[1].contains(#",a\u001b[2J\u000ab\u202e,"#) && lines[1].contains(#"{""a"":""\u009b""}"#), "\(lines[1])"
        )
    }

    @Test func csvQuotesAQuoteWithAnAccent() throws {
        let row = try written([Points.full()], .csv, of: "a\"\u{301},b").split(separator: "\r\n").last ?? ""
        #expect(row.utf8.starts(with: "\"a\"\"\u{301},b\",".utf8))
    }

    @Test func invalidNumbersAreOmitted() throws {
        var point = Points.at(0, 1, 2)
        point.altitude = .nan
        point.speed = .infinity
        for format in HistoryFormat.allCases {
            let text = try written([point], format)
            #expect(!text.contains("nan") && !text.contains("inf"), "\(format)")
        }
    }

    @Test func memoryDoesNotGrow() throws {
        // Only one piece of the track is in memory.
        for format in HistoryFormat.allCases {
            var writer = HistoryWriter(format, of: try TrackableID("x"))
            var (given, longest) = (writer.begin().count, 0)
            for point in Points.walk(3000, seed: 7) {
                let bytes = writer.append(point)
                given += bytes.count
                longest = max(longest, bytes.count)
            }
            #expect(longest < 100_000 && given > 100 * 3000 / 2, "\(format)")
        }
    }
}

/// A FeatureCollection of any size, read line by line.
struct JSONCollection {
    let features: [JSONValue]

    init(_ text: String) throws {
        let lines = text.split(separator: "\n").dropFirst().dropLast()
        self.features = try lines.map { line in
            try JSONValue(json: Array((line.hasSuffix(",") ? line.dropLast() : line).utf8))
        }
    }
}

extension Location {
    /// The text without the parts that JSON may write in several ways.
    var unnamedExtra: Location {
        var point = self
        point.extra = nil
        return point
    }
}
