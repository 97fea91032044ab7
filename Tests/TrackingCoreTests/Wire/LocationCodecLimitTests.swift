import Testing
import TrackingCore

/// The bounds of location updates, on both sides.
@Suite struct LocationCodecLimitTests {
    private static let extra = Array((#"{"a":""# + String(repeating: "x", count: 4_088) + #""}"#).utf8)

    private static func update(skipped count: Int, extra: [UInt8]? = nil) -> LocationUpdate {
        var point = LocationCodecTests.shortest
        point.extra = extra
        point.stream = StreamID("s")
        let points = (0..<count).map { index in
            var numbered = point
            numbered.seq = UInt64(index) + 1
            return numbered
        }
        point.seq = UInt64(count) + 1
        return LocationUpdate(location: point, skipped: points)
    }

    @Test func writesAtMostTheNewest60SkippedPoints() throws {
        var leftOut = 0
        let bytes = try LocationCodec.encode(Self.update(skipped: 75), leftOut: &leftOut)
        #expect(leftOut == 15)
        #expect(try LocationCodec.decode(bytes).skipped.map(\.seq) == (16...75).map { $0 })
    }

    @Test(arguments: [false, true])
    func leavesOutTheOldestUntilThePayloadFits(isRaw: Bool) throws {
        var leftOut = 0
        let update = Self.update(skipped: 40, extra: Self.extra)
        let bytes =
            try isRaw
            ? LocationCodec.encodeRaw(update, leftOut: &leftOut) : LocationCodec.encode(update, leftOut: &leftOut)
        #expect(bytes.count <= WireLimits.maximumPayloadBytes)
        #expect(bytes.count > WireLimits.maximumPayloadBytes - 4_300, "one point more would not have fitted")
        #expect(try LocationCodec.decode(bytes).skipped == Array(update.skipped.dropFirst(leftOut)))
        #expect(leftOut > 0)
    }

    @Test func mayLeaveOutEverySkippedPoint() throws {
        var update = Self.update(skipped: 1, extra: Self.extra)
        var point = update.skipped[0]
        point.extra = Array((#"{"a":""# + String(repeating: "x", count: 3_992) + #""}"#).utf8)
        update.intermediate = Array(repeating: point, count: 30)
        var leftOut = 0
        let bytes = try LocationCodec.encode(update, leftOut: &leftOut)
        #expect(leftOut == 1)
        update.skipped = []
        #expect(try LocationCodec.decode(bytes) == update)
    }

    @Test func refusesToWriteAnUpdateThatIsTooLarge() {
        var update = Self.update(skipped: 1, extra: Self.extra)
        update.intermediate = Array(repeating: update.skipped[0], count: 40)
        let message =
            "cannot encode the position: it has more than 131072 bytes even without skipped points. Shorten its extra members"
        #expect(throws: TrackingError(.payloadTooLarge, message)) { try LocationCodec.encode(update) }
    }

    @Test func readsAtMost1000PointsInAList() throws {
        let point = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"time":1}}"#
        func text(_ count: Int) -> String {
            #"{"location":\#(point),"skippedLocations":[\#(Array(repeating: point, count: count).joined(separator: ","))]}"#
        }
        #expect(try LocationCodec.decode(text(1_000).payload).skipped.count == 1_000)
        expectRefused("skippedLocations[1000] must be one of at most 1000 points; found one more") {
            () throws(TrackingError) in
            try LocationCodec.decode(text(1_001).payload)
        }
    }

    @Test func extraHasAtMost4KiB() throws {
        func feature(_ extra: [UInt8]) -> [UInt8] {
            Array(LocationCodecTests.feature(#","extra":"#).utf8.dropLast(2)) + extra + "}}".payload
        }
        #expect(Self.extra.count == 4_096)
        #expect(try LocationCodec.decodeFeature(feature(Self.extra)).extra == Self.extra)
        expectRefused("properties.extra must be at most 4096 bytes; found more") { () throws(TrackingError) in
            try LocationCodec.decodeFeature(feature("{ ".payload + Self.extra.dropFirst()))
        }
    }

    @Test func theNestingLimitOfExtraIsTheSameInEveryMessage() throws {
        func extra(_ depth: Int) -> String {
            #"{"a":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
        }
        let point = LocationCodecTests.feature(#","extra":\#(extra(16))"#)
        let update = try LocationCodec.decode(#"{"location":\#(point),"skippedLocations":[\#(point)]}"#.payload)
        #expect(try LocationCodec.decode(LocationCodec.encode(update)) == update)
        expectRefused("objects and arrays are nested too deep at byte 123") { () throws(TrackingError) in
            try LocationCodec.decodeFeature(LocationCodecTests.feature(#","extra":\#(extra(17))"#).payload)
        }
    }

    @Test(arguments: ["", "{", "[]", "7", #"{"a":1} "#, #"{"a":"\ud800"}"#, "{\"a\":\"\u{1}\"}"])
    func refusesToWriteAnExtraThatIsNoObject(extra: String) throws {
        var location = LocationCodecTests.shortest
        location.extra = extra.payload
        expectRefused("location.properties.extra must be a JSON object of at most 4096 bytes") {
            () throws(TrackingError) in
            try LocationCodec.encode(LocationUpdate(location: location))
        }
        #expect(try LocationCodec.decodeFeature(LocationCodec.encodeFeature(location)) == LocationCodecTests.shortest)
    }

    @Test func refusesToWriteATimeOrNumberThatReadersRefuse() {
        var location = LocationCodecTests.shortest
        location.time = UnixTime(.nan)
        expectRefused("skippedLocations[0].properties.time must be Unix time in seconds") { () throws(TrackingError) in
            try LocationCodec.encode(LocationUpdate(location: LocationCodecTests.shortest, skipped: [location]))
        }
        expectRefused("properties.time is missing") { () throws(TrackingError) in
            try LocationCodec.decodeFeature(LocationCodec.encodeFeature(location))
        }
        location.time = UnixTime(1)
        location.seq = 0
        expectRefused("location.properties.seq must be a whole number from 1 to 9007199254740991") {
            () throws(TrackingError) in
            try LocationCodec.encode(LocationUpdate(location: location))
        }
    }

    @Test func leavesOutUnknownNumbers() throws {
        var location = LocationCodecTests.shortest
        location.altitude = .infinity
        location.accuracyHorizontal = -1
        location.accuracyVertical = .nan
        location.bearing = 400
        location.speed = -.infinity
        location.batteryLevel = 1.01
        location.floor = .max
        #expect(
            try LocationCodec.decode(LocationCodec.encode(LocationUpdate(location: location))).location
                == LocationCodecTests.shortest)
    }
}
