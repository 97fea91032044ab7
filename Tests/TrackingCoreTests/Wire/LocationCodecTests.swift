import Testing
import TrackingCore

/// The decoding of location updates and Features: accepted values, refused values with their reason, and ignored
/// members.
@Suite struct LocationCodecTests {
    @Test func everyUpdateReadsBackAsItWas() throws {
        var generator = WireGenerator(seed: 5)
        for _ in 0..<2_000 {
            let update = generator.update()
            #expect(try LocationCodec.decode(LocationCodec.encode(update)) == update)
            var raw = update
            raw.intermediate = []
            raw.kind = .actual
            #expect(try LocationCodec.decode(LocationCodec.encodeRaw(update)) == raw)
            #expect(try LocationCodec.decodeFeature(LocationCodec.encodeFeature(update.location)) == update.location)
        }
    }

    @Test func readsASliceOfALargerBuffer() throws {
        let bytes = [0x2C] + ProtocolExampleTests.update.payload + [0x2C]
        #expect(try LocationCodec.decode(bytes[1..<bytes.count - 1]).location == ProtocolExampleTests.location)
    }

    @Test func readsTheShortestUpdate() throws {
        let update = try LocationCodec.decode(Self.update().payload)
        #expect(update == LocationUpdate(location: Self.shortest))
    }

    @Test func nullIsAbsent() throws {
        let names = [
            "accuracyHorizontal", "accuracyVertical", "bearing", "accuracyBearing", "speed", "accuracySpeed", "floor",
            "seq", "stream", "batteryLevel", "mode", "motion", "tripId", "source", "extra",
        ]
        for name in names {
            #expect(try LocationCodec.decode(Self.update(#","\#(name)":null"#).payload).location == Self.shortest)
        }
        let update =
            Self.update(coordinates: "[-8.5,52.5,null]").dropLast()
            + #","skippedLocations":null,"intermediateLocations":null,"type":null}"#
        #expect(try LocationCodec.decode(String(update).payload) == LocationUpdate(location: Self.shortest))
    }

    @Test func ignoresUnknownMembers() throws {
        let text = """
            { "v": [1, {"x": "\\u0041"}], "location": { "id": 7, "bbox": [], "type": "Feature",
              "geometry": { "type": "Point", "crs": null, "coordinates": [-8.5, 52.5, 3, 4.5, 6] },
              "properties": { "time": 1, "mode": "WARP", "motion": ["flying", "walking"], "source": "oracle",
                "colour": "red", "sp\\u0065ed": 2 } }, "type": "PREDICTED" }
            """
        var expected = Self.shortest
        expected.altitude = 3
        expected.motion = [.walking]
        expected.speed = 2
        #expect(try LocationCodec.decode(text.payload) == LocationUpdate(location: expected, kind: .predicted))
    }

    @Test func theLastOfTwoMembersWins() throws {
        let update = try LocationCodec.decode(Self.update(#","speed":1,"speed":2,"bearing":3,"bearing":null"#).payload)
        #expect(update.location.speed == 2)
        #expect(update.location.bearing == nil)
    }

    @Test func aBearingOf360IsNorth() throws {
        #expect(try LocationCodec.decode(Self.update(#","bearing":360"#).payload).location.bearing == 0)
        var location = Self.shortest
        location.bearing = 360
        #expect(try LocationCodec.decodeFeature(LocationCodec.encodeFeature(location)).bearing == 0)
    }

    @Test func wholeNumbersMayHaveAFraction() throws {
        let location = try LocationCodec.decode(Self.update(#","seq":4711.0,"floor":-2e0"#).payload).location
        #expect(location.seq == 4711)
        #expect(location.floor == -2)
    }

    @Test func skippedPointsInheritTheStreamInAnyPosition() throws {
        let point = Self.feature(#","seq":1"#)
        let other = Self.feature(#","seq":2,"stream":"other""#)
        let location = Self.feature(#","seq":3,"stream":"mine""#)
        let text = #"{"skippedLocations":[\#(point),\#(other)],"location":\#(location)}"#
        #expect(try LocationCodec.decode(text.payload).skipped.map(\.stream?.rawValue) == ["mine", "other"])
    }

    @Test func extraIsKeptUnchanged() throws {
        let extra = #"{ "b" : 1.50, "a":["\u00e9", null], "b":-0 }"#
        let location = try LocationCodec.decode(Self.update(#","extra": \#(extra) "#).payload).location
        #expect(location.extra == extra.payload)
        let bytes = try LocationCodec.encode(LocationUpdate(location: location))
        #expect(String(decoding: bytes, as: UTF8.self).contains(#""extra":\#(extra)}"#))
    }

    static let badProperties = [
        (#","speed":"8.2""#, "location.properties.speed must be a number of 0 or more; found a string"),
        (#","speed":true"#, "location.properties.speed must be a number of 0 or more; found true or false"),
        (#","speed":-1"#, "location.properties.speed must be a number of 0 or more; found a number out of range"),
        (#","speed":1e999"#, "location.properties.speed must be a number of 0 or more; found a number out of range"),
        (
            #","accuracyHorizontal":-0.1"#,
            "location.properties.accuracyHorizontal must be a number of 0 or more; found a number out of range"
        ),
        (
            #","accuracyVertical":[]"#,
            "location.properties.accuracyVertical must be a number of 0 or more; found an array"
        ),
        (
            #","accuracyBearing":{}"#,
            "location.properties.accuracyBearing must be a number of 0 or more; found an object"
        ),
        (#","accuracySpeed":"""#, "location.properties.accuracySpeed must be a number of 0 or more; found a string"),
        (
            #","bearing":360.1"#,
            "location.properties.bearing must be a number from 0 to below 360; found a number out of range"
        ),
        (
            #","batteryLevel":83"#,
            "location.properties.batteryLevel must be a number from 0 to 1; found a number out of range"
        ),
        (
            #","floor":1.5"#,
            "location.properties.floor must be a whole number from -9007199254740991 to 9007199254740991; "
                + "found another number"
        ),
        (
            #","seq":0"#,
            "location.properties.seq must be a whole number from 1 to 9007199254740991; found another number"
        ),
        (
            #","seq":9007199254740992"#,
            "location.properties.seq must be a whole number from 1 to 9007199254740991; found another number"
        ),
        (#","seq":"1""#, "location.properties.seq must be a number; found a string"),
        (
            #","stream":"""#,
            "location.properties.stream must be a string of 1 to 64 bytes without control characters; found another string"
        ),
        (
            #","stream":"a\u0000b""#,
            "location.properties.stream must be a string of 1 to 64 bytes without control characters; found another string"
        ),
        (#","stream":7"#, "location.properties.stream must be a string; found a number"),
        (#","mode":1"#, "location.properties.mode must be a string; found a number"),
        (#","motion":"driving""#, "location.properties.motion must be an array; found a string"),
        (#","motion":[1]"#, "location.properties.motion must be a string; found a number"),
        (#","tripId":false"#, "location.properties.tripId must be a string; found true or false"),
        (#","source":{}"#, "location.properties.source must be a string; found an object"),
        (#","extra":[]"#, "location.properties.extra must be an object; found an array"),
        (#","extra":{"a":}"#, "the text is not JSON: expected a value at byte 120"),
        (#","time":null"#, "location.properties.time is missing"),
        (#","time":"2024-01-01T00:00:00Z""#, "location.properties.time must be Unix time in seconds; found a string"),
        (
            #","time":1e12"#,
            "location.properties.time must be Unix time in seconds; found a number out of range"
        ),
    ]

    @Test(arguments: Self.badProperties)
    func refusesABadProperty(member: String, message: String) {
        expectRefused(message) { () throws(TrackingError) in try LocationCodec.decode(Self.update(member).payload) }
        guard !message.hasPrefix("the text is not JSON") else { return }
        let skipped =
            #"{"skippedLocations":[\#(Self.feature()),\#(Self.feature(member))],"location":\#(Self.feature())}"#
        expectRefused(message.replacing("location.", with: "skippedLocations[1].")) { () throws(TrackingError) in
            try LocationCodec.decode(skipped.payload)
        }
        expectRefused(message.replacing("location.", with: "")) { () throws(TrackingError) in
            try LocationCodec.decodeFeature(Self.feature(member).payload)
        }
    }

    @Test(arguments: [
        ("[]", "[longitude, latitude] or [longitude, latitude, altitude]; found fewer numbers"),
        ("[1]", "[longitude, latitude] or [longitude, latitude, altitude]; found fewer numbers"),
        ("[181,0]", "a longitude from -180 to 180; found a number out of range"),
        ("[52.6,-90.01]", "a latitude from -90 to 90; found a number out of range"),
        (#"["1",2]"#, "a longitude from -180 to 180; found a string"),
        ("[null,2]", "a longitude from -180 to 180; found null"),
        ("[1,2,[]]", "a number; found an array"),
        ("null", "an array; found null"),
    ])
    func refusesBadCoordinates(coordinates: String, message: String) {
        expectRefused("location.geometry.coordinates must be \(message)") { () throws(TrackingError) in
            try LocationCodec.decode(Self.update(coordinates: coordinates).payload)
        }
    }

    @Test(arguments: [
        ("[]", "the payload must be an object; found an array"),
        ("7", "the payload must be an object; found a number"),
        ("{}", "location is missing"),
        (#"{"location":null}"#, "location must be an object; found null"),
        (#"{"location":{}}"#, "location.type is missing"),
        (#"{"location":{"type":"Point"}}"#, #"location.type must be "Feature"; found another string"#),
        (#"{"location":{"type":"Feature"}}"#, "location.geometry.coordinates is missing"),
        (#"{"location":{"type":"Feature","geometry":null}}"#, "location.geometry must be an object; found null"),
        (#"{"location":{"type":"Feature","geometry":{}}}"#, "location.geometry.type is missing"),
        (
            #"{"location":{"type":"Feature","geometry":{"type":"Polygon"}}}"#,
            #"location.geometry.type must be "Point"; found another string"#
        ),
        (
            #"{"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":null}}"#,
            "location.properties.time is missing"
        ),
        (#"{"skippedLocations":{}}"#, "skippedLocations must be an array; found an object"),
        (#"{"skippedLocations":[null]}"#, "skippedLocations[0] must be an object; found null"),
        (
            #"{"intermediateLocations":[{"type":1}]}"#,
            #"intermediateLocations[0].type must be "Feature"; found a number"#
        ),
        (#"{"type":"GUESSED"}"#, "type must be one of ACTUAL, PREDICTED; found another string"),
        ("not json", "the text is not JSON: expected a value at byte 1"),
        ("hello", "the text is not JSON: expected a value at byte 0"),
    ])
    func refusesABadShape(text: String, message: String) {
        expectRefused(message) { () throws(TrackingError) in try LocationCodec.decode(text.payload) }
    }

    @Test func neverQuotesAValue() {
        for text in [Self.update(coordinates: "[-208.661746,52.629151]"), Self.update(#","tripId":{"x":52.629151}"#)] {
            do throws(TrackingError) {
                _ = try LocationCodec.decode(text.payload)
                Issue.record("accepted")
            } catch {
                #expect(!error.description.contains("629151"))
                #expect(!error.description.contains("661746"))
            }
        }
    }

    static let shortest = Location(coordinate: Coordinate(latitude: 52.5, longitude: -8.5)!, time: UnixTime(1))

    static func feature(_ properties: String = "", coordinates: String = "[-8.5,52.5]") -> String {
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":\#(coordinates)},"properties":{"time":1\#(properties)}}"#
    }

    static func update(_ properties: String = "", coordinates: String = "[-8.5,52.5]") -> String {
        #"{"location":\#(Self.feature(properties, coordinates: coordinates))}"#
    }
}
