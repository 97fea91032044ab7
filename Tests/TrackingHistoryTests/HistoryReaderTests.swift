import Testing
import TrackingCore
import TrackingHistory

@Suite struct HistoryReaderTests {
    // MARK: Exported files

    @Test(arguments: [(HistoryFormat.json, HistoryReader.Format.geojson), (.geojson, .geojson), (.csv, .csv)])
    func exportsReadBackCompletely(format: HistoryFormat, reader: HistoryReader.Format) throws {
        let points = Points.walk(300, seed: 1) + [Points.at(1_800_000_000.000001, -90, 180), Points.at(-5, 0, 0)]
        let (events, failure) = read(try written(points, format), reader)
        #expect(failure == nil && events.refusals.isEmpty)
        let fixes = events.fixes
        #expect(fixes.map(\.unnamedExtra) == points.map(\.unnamed.unnamedExtra))
        for (fix, point) in zip(fixes, points) {
            #expect(try fix.extra.map { try JSONValue(json: $0) } == point.extra.map { try JSONValue(json: $0) })
        }
    }

    /// Spreadsheets interpret a text that begins like a formula as one. Numbers remain numbers.
    @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "''-1", "'", "'a", "=\"a\",b"])
    func textsThatBeginLikeAFormulaAreProtectedAndReadBack(id: String) throws {
        var point = Points.at(1_800_000_000, -12.5, -8.25)
        (point.tripID, point.altitude) = (id, -3)
        let text = try written([point], .csv, of: "=van")
        let row = try #require(text.split(separator: "\r\n").last)
        #expect(row.hasPrefix("'=van,") && row.contains(",-12.5,-8.25,-3,"))
        #expect(!row.contains(",=") && !row.contains(",+") && !row.contains(",@") && !row.contains(",-1,"))
        let (events, failure) = read(text, .csv)
        #expect(failure == nil && events.refusals.isEmpty)
        #expect(events.fixes.map(\.tripID) == [id] && events.fixes.map(\.coordinate) == [point.coordinate])
    }

    @Test func anIDOfATripWithControlCharactersIsRefusedWithAReason() throws {
        let file =
            "time,latitude,longitude,tripid\r\n2026-01-01T00:00:00Z,52,-8,a\u{1B}[2J\r\n2026-01-01T00:00:01Z,52,-8,b\r\n"
        let events = read(file, .csv).events
        #expect(events.fixes.map(\.tripID) == ["b"])
        #expect(events.refusals.count == 1 && events.refusals.first?.contains("the trip id has") == true)
    }

    @Test func exportedGPXReadsBackWithinTheLimitsOfGPX() throws {
        let points = Points.walk(300, seed: 2)
        let (events, failure) = read(try written(points, .gpx), .gpx)
        #expect(failure == nil && events.refusals.isEmpty)
        #expect(events.fixes.map(\.coordinate) == points.map(\.coordinate))
        #expect(events.fixes.map(\.time) == points.map(\.time))
        #expect(events.fixes.map(\.altitude) == points.map(\.altitude))
        #expect(events.fixes.map(\.speed) == points.map(\.speed))
        #expect(events.fixes.map(\.bearing) == points.map(\.bearing))
    }

    @Test(arguments: HistoryReader.Format.allCases, 1...20)
    func theDivisionIntoPiecesDoesNotMatter(format: HistoryReader.Format, seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        let bytes = Array(Samples.file(format).utf8)
        let whole = read([bytes[...]], format)
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            pieces.append(rest.prefix(Int.random(in: 1...20, using: &dice)))
            rest = rest.dropFirst(pieces[pieces.count - 1].count)
        }
        let cut = read(pieces, format)
        #expect(cut.events == whole.events && cut.failure == whole.failure)
        #expect(!whole.events.fixes.isEmpty)
    }

    /// The encoding that spreadsheets on Windows use.
    @Test(arguments: HistoryReader.Format.allCases, [false, true])
    func textInUTF16IsTheSame(format: HistoryReader.Format, isBigEndian: Bool) {
        let text = ["van-7", "MyNet", "Home"].reduce(Samples.file(format)) { $0.replacing($1, with: "🚐é") }
        let whole = read(text, format)
        #expect(!whole.events.fixes.isEmpty)
        let bytes = "\u{FEFF}\(text)".utf16.flatMap { unit in
            isBigEndian ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
        }
        for size in [1, 7, 4096] {
            let pieces = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
            let cut = read(pieces, format)
            #expect(cut.events == whole.events && cut.failure == whole.failure, "in pieces of \(size)")
        }
    }

    @Test(arguments: HistoryReader.Format.allCases, 1...100)
    func anyBytesAreReadWithoutACrash(format: HistoryReader.Format, seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        var bytes = Array(Samples.file(format).utf8)
        let bad: [UInt8] = [0, 255, 10, 13, 9, 34, 92, 44, 123, 125, 91, 93, 58, 0x1E, 45]
        for _ in 0..<Int.random(in: 1...10, using: &dice) {
            bytes[Int.random(in: 0..<bytes.count, using: &dice)] = bad[Int.random(in: 0..<bad.count, using: &dice)]
        }
        for point in read([bytes[...]], format).events.fixes {
            #expect((try? LocationCodec.decodeFeature(LocationCodec.encodeFeature(point))) == point)
        }
    }

    @Test(arguments: HistoryReader.Format.allCases) func memoryStaysBounded(format: HistoryReader.Format) {
        // Brackets and strings that begin and never end.
        for filler in ["{\"features\":[{\"a\":\"", "time,latitude,longitude\n\"", "<gpx><trk a=\"", "[[[[", "{\"a\":"] {
            var reader = HistoryReader(format)
            var events = reader.append(Array(filler.utf8)[...])
            for _ in 0..<5 { events += reader.append([UInt8](repeating: UInt8(ascii: "x"), count: 65_536)[...]) }
            events += reader.finish()
            #expect(events.count < 10 && events.fixes.isEmpty)
        }
    }

    @Test(arguments: HistoryReader.Format.allCases) func anEmptyFileIsOfNoFormat(format: HistoryReader.Format) {
        for text in ["", "\n\n", "hello\n"] {
            let (events, failure) = read(text, format)
            #expect(events.fixes.isEmpty && failure?.code == .inputUnreadable, "'\(text)'")
        }
    }

    @Test func theNameDeterminesTheFormat() {
        #expect(HistoryReader.Format(fileName: "a.b/c.GPX") == .gpx)
        #expect(HistoryReader.Format(fileName: "day.geojson") == .geojson)
        #expect(HistoryReader.Format(fileName: "2026-05.rec") == .owntracks)
        #expect(HistoryReader.Format(fileName: "x.csv") == .csv)
        #expect(HistoryReader.Format(fileName: "x.doc") == nil && HistoryReader.Format(fileName: "gpx") == nil)
    }

    // MARK: GeoJSON and Overland

    @Test func featuresOfOthersAreReadAndRefusedByLine() throws {
        let text = """
            {"type":"FeatureCollection","name":"x","crs":{"features":[1]},"features":[
            {"type":"Feature","geometry":{"type":"Point","coordinates":[2,1,9]},"properties":{"timestamp":"2026-05-04T09:30:00Z","Colour":"red"}},
            {"type":"Feature","geometry":{"type":"Point","coordinates":[2,91]},"properties":{"time":1777887000}},
            {"type":"Feature","geometry":{"type":"LineString","coordinates":[[2,1],[3,1]]},"properties":{"time":1777887000}},
            {"type":"Feature","geometry":null,"properties":{}},
            {"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"no time"}},
            7, null, "x",
            {"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"time":1777887000250,"course":-1,"speed":-1}}
            ],"after":{"features":[]}}
            """
        let (events, failure) = read(text, .geojson)
        #expect(failure == nil)
        #expect(
            events.refusals == [
                "line 3: the latitude must be -90 to 90 and the longitude -180 to 180",
                "line 4: the geometry is not a Point",
                "line 5: the geometry is not a Point", "line 6: the point has no readable time",
                "line 7: the value is not a JSON object, or its nesting is too deep",
                "line 7: the value is not a JSON object, or its nesting is too deep",
                "line 7: the value is not a JSON object, or its nesting is too deep",
            ])
        var first = Points.at(1_777_887_000, 1, 2)
        first.altitude = 9
        first.extra = Array(#"{"Colour":"red"}"#.utf8)
        #expect(events.fixes == [first, Points.at(1_777_887_000.25, 1, 2)])
    }

    @Test func columnsOfUnknownNamesJoinTheExtra() {
        let text = """
            time,lat,lon,extra,driver,cargo
            1777887000,1,2,"{""cargo"": ""fish"",  ""null"":null}",Ann,meat
            1777887001,1,2,{},Ann,
            1777887002,1,2,no object,Ann,
            """
        #expect(
            read(text, .csv).events.fixes.map { String(decoding: $0.extra ?? [], as: UTF8.self) } == [
                #"{"cargo": "fish",  "null":null,"driver":"Ann"}"#, #"{"driver":"Ann"}"#, #"{"driver":"Ann"}"#,
            ])
    }

    @Test func noPropertyIsLostBecauseTheTimeIsANumber() throws {
        let text = #"""
            {"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},
            "properties":{"time":1777887000,"accuracy":5,"heading":90,"cargo":"fish"}}
            """#
        let point = try #require(read(text, .geojson).events.fixes.first)
        #expect(point.accuracyHorizontal == 5 && point.bearing == 90)
        #expect(point.extra == Array(#"{"cargo":"fish"}"#.utf8))
    }

    @Test func anActionIsOverlandsOnlyInItsBatches() throws {
        let features = [#""action":"delivered""#, #""type":"trip""#].map {
            #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"time":1777887000,\#($0)}}"#
        }.joined(separator: ",")
        let plain = read(#"{"type":"FeatureCollection","features":[\#(features)]}"#, .geojson).events
        #expect(plain.fixes.count == 2 && plain.fixes[0].extra == Array(#"{"action":"delivered"}"#.utf8))
        let batch = read(#"{"locations":[\#(features)]}"#, .geojson).events
        #expect(batch.isEmpty)
    }

    @Test func aMissingCoordinateIsNotReplacedByAnother() {
        let text = #"""
            {"type":"Feature","geometry":{"type":"Point","coordinates":[-122.6,null,80]},"properties":{"time":1777887000}}
            """#
        let events = read(text, .geojson).events
        #expect(events.refusals == ["line 1: a coordinate is null"] && events.fixes.isEmpty)
    }

    @Test func aSequenceContinuesAfterADamagedLine() throws {
        let points = Points.walk(6, seed: 3).map { point in
            var point = point
            point.extra = nil
            return point
        }
        var lines = try written(points, .json).split(separator: "\n").map { "\u{1E}" + $0 }
        lines[1] = String(lines[1].prefix(40))
        lines[3] = "\u{1E}" + lines[3].dropFirst().replacing("\"Point\"", with: "\"Point")
        let (events, failure) = read(lines.joined(separator: "\n"), .geojson)
        #expect(failure == nil)
        #expect(events.fixes == [points[0], points[2], points[4], points[5]].map(\.unnamed))
        #expect(events.refusals.map { $0.prefix(8) } == ["line 2: ", "line 4: "])
        let plain = read(lines.map { String($0.dropFirst()) }.joined(separator: "\n"), .geojson)
        #expect(plain.events.fixes == events.fixes && plain.events.refusals == events.refusals)
    }

    @Test func aListOfFeaturesOrBatchesIsReadLikeThemselves() throws {
        let features = try written(Points.walk(3, seed: 4), .json).split(separator: "\n")
        for list in [
            "[\(features.joined(separator: ","))]", "\u{FEFF} [\n\(features.joined(separator: ",\n"))\n]\n",
            #"[{"locations":[\#(features[0]),\#(features[1])]},{"locations":[\#(features[2])]}]"#,
        ] {
            let (events, failure) = read(list, .geojson)
            #expect(failure == nil && events.refusals.isEmpty && events.fixes.count == 3, "\(events.refusals)")
            let brokenOff = read(String(list.dropLast(list.hasSuffix("\n") ? 2 : 1)), .geojson).events
            #expect(brokenOff.refusals.count == 1 && brokenOff.fixes.count == 3)
        }
        #expect(read("[[\(features[0])]]", .geojson).events.refusals == ["line 1: the text is not a JSON object"])
    }

    @Test func aTruncatedFileIsReported() throws {
        let text = try written(Points.walk(3, seed: 4), .geojson)
        let (events, failure) = read(String(text.prefix(text.count - 60)), .geojson)
        #expect(failure == nil && events.fixes.count == 2)
        #expect(events.refusals.last?.hasPrefix("the file ends unexpectedly within line ") == true)
    }

    @Test func overlandIsReadAsItsAppSendsIt() throws {
        let (events, failure) = read(Samples.overland, .overland)
        #expect(failure == nil && events.refusals.isEmpty)
        let fixes = events.fixes
        #expect(fixes.count == 2)
        let first = try #require(fixes.first)
        #expect(
            first.time == UnixTime(1_714_564_800)
                && first.coordinate == Points.at(0, 45.5231341, -122.6765012).coordinate)
        #expect(first.altitude == 80 && first.speed == 4 && first.bearing == 271)
        #expect(first.accuracyHorizontal == 5 && first.accuracyVertical == 3 && first.batteryLevel == 0.85)
        #expect(first.accuracySpeed == 0.61 && first.accuracyBearing == 4.2)
        #expect(first.motion == [.driving, .stationary] && first.tripID == "2024-05-01T11:58:10Z")
        let extra = try JSONValue(json: try #require(first.extra))
        #expect(extra["wifi"]?.text == "MyNet" && extra["battery_state"]?.text == "unplugged")
        #expect(extra["device_id"]?.text == "phone1")
        let second = fixes[1]
        #expect(second.speed == nil && second.bearing == nil && second.batteryLevel == nil)
    }

    // MARK: CSV

    /// Conventions of OwnTracks' and Overland's apps apply to files as they apply to live messages.
    @Test func overlandsUnknownValuesAreUnknown() throws {
        func feature(_ properties: String) -> String {
            "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[8,47]},"
                + "\"properties\":{\"timestamp\":\"2026-01-01T00:00:00Z\",\(properties)}}"
        }
        let features = [
            feature("\"altitude\":0,\"vertical_accuracy\":-1"), feature("\"altitude\":-1,\"vertical_accuracy\":0"),
            feature("\"horizontal_accuracy\":-1"),
            feature("\"motion\":[\"in_vehicle\",\"on_foot\",\"tilting\"],\"battery_state\":true"),
        ]
        let text = "{\"locations\":[\(features.joined(separator: ","))]}"
        let (events, failure) = read([Array(text.utf8)[...]], .overland)
        #expect(failure == nil && events.refusals.isEmpty && events.fixes.count == 3)
        #expect(events.fixes.map(\.altitude) == [nil, nil, nil] && events.fixes[1].accuracyVertical == nil)
        #expect(events.fixes[2].motion == [.driving, .walking])
        let extra = try JSONValue(json: try #require(events.fixes[2].extra))
        #expect(extra["battery_state"]?.text == "charging" && extra["motion"]?.list?.count == 3)
    }

    /// The number format of spreadsheets with a decimal comma.
    @Test func aDecimalCommaIsReadWhereItSeparatesNothing() throws {
        let text = "time;lat;lon;note\n2024-01-01T00:00:00Z;47,5;-8,25;1,5 l\n2024-01-01T00:00:01Z;52.5N;8;x\n"
        let (events, _) = read([Array(text.utf8)[...]], .csv)
        #expect(events.fixes.map(\.coordinate) == [Coordinate(latitude: 47.5, longitude: -8.25)])
        #expect(try events.fixes[0].extra.map { try JSONValue(json: $0) }?["note"]?.text == "1,5 l")
        #expect(events.refusals == ["line 3: the latitude or longitude is not a number of degrees such as 47.5"])
    }

    @Test func aLineThatIsNotUTF8IsRejected() {
        let lines = [
            Array("time,lat,lon,note\n2024-01-01T00:00:00Z,47,8,".utf8), [0xE9, 0x0A],
            Array("2024-01-01T00:00:01Z,47,8,é\n".utf8),
        ]
        let (events, failure) = read([lines.joined()[...].map(\.self)[...]], .csv)
        #expect(failure == nil && events.fixes.map(\.time.seconds) == [1_704_067_201])
        #expect(events.refusals == ["line 2: the text is not UTF-8. Convert the file to UTF-8"])
        let header = Array("time,lat,lon,".utf8) + [0xE9, 0x0A]
        #expect(
            read([header[...]], .csv).failure?.message == "line 1: the text is not UTF-8. Convert the file to UTF-8")
    }

    /// Each format of an export can contain the time of an imported point.
    @Test(arguments: [
        (99_999_999_999.9, "5138-11-16T09:46:39.9Z", true), (-62_135_596_800, "0001-01-01T00:00:00Z", true),
        (-62_135_596_801, "0000-12-31T23:59:59Z", false),
    ])
    func aTimeIsAcceptedAsANumberAndAsText(seconds: Double, text: String, isAccepted: Bool) {
        for time in ["\(seconds)", text] {
            let (events, _) = read([Array("time,lat,lon\n\(time),47,8\n".utf8)[...]], .csv)
            #expect(events.fixes.map(\.time.seconds) == (isAccepted ? [seconds] : []), "\(time)")
        }
    }

    @Test func csvOfOthersIsReadByItsHeader() throws {
        let text = """
            \u{FEFF}"Date Time";Lat;LNG;Elevation;Speed_kmh;note
            2026-05-04 09:30:00;1;2;3;36;"a;b ""c""
            d"

            1777887001000;1;2;;;

            """.replacing("\n", with: "\r\n")
        let (events, failure) = read(text, .csv)
        #expect(failure == nil && events.refusals.isEmpty)
        #expect(events.fixes.map(\.time.seconds) == [1_777_887_000, 1_777_887_001])
        #expect(events.fixes.first?.altitude == 3 && events.fixes.first?.speed == 10)
        #expect(
            events.fixes.first?.extra.map { String(decoding: $0, as: UTF8.self) }
                == #"{"note":"a;b \"c\"\u000d\u000ad"}"#)
        #expect(events.fixes.last?.altitude == nil && events.fixes.last?.extra == nil)
    }

    @Test func badRowsAreRefusedByLine() {
        let text = """
            time,latitude,longitude
            2026-05-04T09:30:00Z,1,2
            2026-05-04T09:30:01Z,1
            never,1,2
            2026-05-04T09:30:02Z,91,2
            2026-05-04T09:30:03Z,x,2
            2026-05-04T09:30:04Z,1,2,3
            2026-05-04T09:30:05Z,"1",2
            """
        let (events, failure) = read(text, .csv)
        #expect(failure == nil && events.fixes.count == 2)
        #expect(
            events.refusals == [
                "line 3: the line has 2 fields, but the header has 3", "line 4: the point has no readable time",
                "line 5: the latitude must be -90 to 90 and the longitude -180 to 180",
                "line 6: the latitude or longitude is not a number of degrees such as 47.5",
                "line 7: the line has 4 fields, but the header has 3",
            ])
    }

    @Test func aTooLongRowIsSkippedAlone() {
        let long = String(repeating: "x", count: 200_000)
        let text = "time,lat,lon,n\n1,1,2,a\n2,1,2,\"\(long)\"\n3,1,2,\(long)\n4,1,2,b\n"
        let (events, failure) = read(text, .csv)
        #expect(failure == nil && events.fixes.map(\.time.seconds) == [1, 4])
        #expect(events.refusals.count == 2 && events.refusals[0].hasPrefix("line 3: "))
    }

    /// Files that people write by hand.
    @Test func blanksAndQuotedCommasAreIgnored() throws {
        let (events, failure) = read(
            "\"height\", time, lat, lon,tripId\n2, 2026-05-04T09:30:00Z , 52.5,  8.25 , a \n", .csv)
        #expect(failure == nil && events.refusals.isEmpty)
        let fix = try #require(events.fixes.first)
        #expect(fix.coordinate == Points.at(0, 52.5, 8.25).coordinate && fix.altitude == 2 && fix.tripID == " a ")
        let (others, refusal) = read(
            "\"remark, short\";time;lat;lon\n\"x\";2026-05-04T09:30:00Z;52,5; 8,25\n", .csv)
        #expect(refusal == nil && others.fixes.map(\.coordinate) == [fix.coordinate])
    }

    @Test func aHeaderIsNeeded() {
        #expect(
            read("1,2,3\n4,5,6\n", .csv).failure?.message
                == "the input is not CSV with a header of known columns: it has no column for time, latitude, longitude"
        )
    }

    // MARK: OwnTracks

    @Test func ownTracksIsReadAsItsRecorderStoresIt() throws {
        let (events, failure) = read(Samples.ownTracks, .owntracks)
        #expect(failure == nil)
        #expect(
            events.refusals == [
                "line 4: the message is encrypted; configure the recorder to store decrypted messages",
                "line 5: the line contains no JSON object",
            ])
        let fixes = events.fixes
        #expect(fixes.count == 2)
        let first = try #require(fixes.first)
        #expect(first.time == UnixTime(1_733_842_245) && first.coordinate == Points.at(0, 52.1, 5.1).coordinate)
        #expect(first.accuracyHorizontal == 13 && first.altitude == 23 && first.accuracyVertical == 15)
        #expect(first.bearing == 56 && first.speed == 6 / 3.6 && first.batteryLevel == 0.62)
        let extra = try JSONValue(json: try #require(first.extra))
        #expect(extra["tid"]?.text == "le" && extra["conn"]?.text == "w" && extra["inregions"]?.list?.count == 1)
        #expect(fixes[1].speed == nil && fixes[1].coordinate == Points.at(0, 52.2, 5.2).coordinate)
    }
}

/// Files of other programs.
enum Samples {
    static func file(_ format: HistoryReader.Format) -> String {
        switch format {
        case .gpx: (try? written(Points.walk(5, seed: 9), .gpx)) ?? ""
        case .geojson: (try? written(Points.walk(5, seed: 9), .geojson)) ?? ""
        case .csv: (try? written(Points.walk(5, seed: 9), .csv)) ?? ""
        case .owntracks: Self.ownTracks
        case .overland: Self.overland
        case .nextbillion: Self.nextBillion
        case .ably: Self.ablyVersion1
        }
    }

    static let ownTracks = """
        2024-12-10T14:50:45Z\t*                 \t{"_type":"location","_id":"5e13f79e","acc":13,"alt":23,"batt":62,"bs":1,\
        "cog":56,"conn":"w","created_at":1733842246,"lat":52.1,"lon":5.1,"m":1,"t":"p","tid":"le","tst":1733842245,"vac":15,\
        "vel":6,"inregions":["Home"]}
        2024-12-10T14:50:46Z\tevent             \t{"_type":"transition","event":"enter","tst":1733842246,"lat":52.1,"lon":5.1}
        2024-12-10T14:50:47Z\tlwt               \t{"_type":"lwt","tst":1733842000}
        2024-12-10T14:50:48Z\t*                 \t{"_type":"encrypted","data":"AAAA"}
        2024-12-10T14:50:49Z\t*                 \tnonsense
        2024-12-10T14:50:50Z\t*                 \t{"_type":"location","lat":"52.2","lon":"5.2","tst":1733842250,"vel":-1}

        """

    static let overland = """
        {"locations":[
        {"type":"Feature","geometry":{"type":"Point","coordinates":[-122.6765012,45.5231341]},"properties":{
        "timestamp":"2024-05-01T12:00:00Z","altitude":80,"speed":4,"course":271,"horizontal_accuracy":5,"vertical_accuracy":3,
        "speed_accuracy":0.61,"course_accuracy":4.2,"motion":["driving","stationary"],"wifi":"MyNet",
        "battery_state":"unplugged","battery_level":0.85,"device_id":"phone1","trip_id":"2024-05-01T11:58:10Z"}},
        {"type":"Feature","geometry":{"type":"Point","coordinates":[-122.67,45.52]},"properties":{
        "timestamp":"2024-05-01T12:00:01Z","action":"visit","arrival_date":null,"departure_date":"2024-05-01T12:00:01Z"}},
        {"type":"Feature","properties":{"timestamp":"2024-05-01T12:00:01Z","action":"paused_location_updates"}}],
        "current":{"type":"Feature"}}
        {"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":[-122.67,45.52]},"properties":{
        "timestamp":"2024-05-01T12:00:02Z","speed":-1,"course":-1,"battery_level":-1,"motion":[]}},
        {"type":"Feature","geometry":{"type":"Point","coordinates":[-122.67,45.52]},"properties":{
        "timestamp":"2024-05-01T12:00:03Z","type":"trip","mode":"bicycle"}}],"trip":{"x":[{}]}}
        """
}
