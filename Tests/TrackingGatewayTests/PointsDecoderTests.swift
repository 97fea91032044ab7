import Testing
import TrackingCore
import TrackingPublisher

@testable import TrackingGateway

@Suite struct PointsDecoderTests {
    @Test func textSequenceOfRFC8142() throws {
        let batch = try PointsDecoder.decode(clientFixture("points.geojsons"))
        #expect(batch.refused.isEmpty && batch.points.count == 2)
        #expect(batch.points[0].seq == nil && batch.points[0].stream == nil && batch.points[0].speed == 3.5)
        #expect(batch.points[0].extraMembers == ["cargo": .text("fish")])
        #expect(batch.points[1].time == UnixTime(noon + 1) && batch.points[1].accuracyHorizontal == 5)
        #expect(batch.points[1].extraMembers == ["cargo": .text("ice")])
    }

    @Test func collectionWithABadFeature() throws {
        let batch = try PointsDecoder.decode(clientFixture("points-collection.json"))
        #expect(batch.points.map(\.time) == [UnixTime(noon), UnixTime(noon + 2)])
        #expect(batch.refused.count == 1)
    }

    @Test func oneFeatureAndOneALine() throws {
        let feature = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"time":3}}"#
        #expect(try PointsDecoder.decode(Array(feature.utf8)).points.count == 1)
        let lines = Array("\(feature)\n\(feature)\r\n\(feature)".utf8)
        let batch = try PointsDecoder.decode(lines)
        #expect(batch.points.count == 3 && Set(batch.records.map(\.digest)).count == 1)
    }

    @Test func anEmptyCollectionIsNothing() throws {
        #expect(try PointsDecoder.decode(Array(#"{"type":"FeatureCollection","features":[]}"#.utf8)) == PhoneBatch())
    }

    @Test(arguments: ["", "{", "[", "}", "{\"a\"", "\u{1E}"]) func unreadable(_ body: String) {
        #expect(throws: TrackingError.self) { try PointsDecoder.decode(Array(body.utf8)) }
    }

    private func feature(_ properties: String, at coordinates: String = "[1,2]") -> String {
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":\#(coordinates)},"properties":{\#(properties)}}"#
    }

    @Test func noPropertyIsLostBecauseTheTimeIsANumber() throws {
        let body = self.feature(#""time":3,"accuracy":5,"heading":90,"battery":0.5,"name":"cart","cargo":"fish""#)
        let point = try #require(try PointsDecoder.decode(Array(body.utf8)).points.first)
        #expect(point.time == UnixTime(3) && point.accuracyHorizontal == 5 && point.bearing == 90)
        #expect(point.batteryLevel == 0.5)
        #expect(point.extraMembers == ["name": .text("cart"), "cargo": .text("fish")])
    }

    @Test(arguments: ["[null,2,3]", "[1,null,2]"])
    func aCoordinateNeverTakesThePlaceOfAnother(_ coordinates: String) throws {
        for properties in [#""time":3"#, #""timestamp":"2026-05-01T12:00:00Z""#] {
            let batch = try PointsDecoder.decode(Array(self.feature(properties, at: coordinates).utf8))
            #expect(batch.points.isEmpty && batch.refused.count == 1)
        }
    }

    @Test func anAltitudeThatIsNullIsUnknown() throws {
        let body = self.feature(#""timestamp":"2026-05-01T12:00:00Z""#, at: "[1,2,null]")
        let point = try #require(try PointsDecoder.decode(Array(body.utf8)).points.first)
        #expect(point.coordinate == Coordinate(latitude: 2, longitude: 1) && point.altitude == nil)
    }

    @Test func aBrokenTextOfASequenceCostsItself() throws {
        let texts = [self.feature(#""time":1"#), #"{"type":"Feature","geometry":{"#, self.feature(#""time":3"#)]
        for body in ["\u{1E}" + texts.joined(separator: "\n\u{1E}") + "\n", texts.joined(separator: "\r\n") + "\n"] {
            let batch = try PointsDecoder.decode(Array(body.utf8))
            #expect(batch.points.map(\.time) == [UnixTime(1), UnixTime(3)])
            #expect(batch.refused.count == 1 && batch.refused[0].bytes.starts(with: texts[1].utf8))
        }
    }

    @Test func aTruncatedBodyIsRejectedAsAWhole() {
        let features = [self.feature(#""time":1"#), self.feature(#""time":2"#)].joined(separator: ",\n")
        for body in [
            "{\"type\":\"FeatureCollection\",\"features\":[\n\(features)", "\u{1E}{\"type\"",
            "{\n\"type\":\n\"Feature\"",
        ] {
            #expect(throws: TrackingError.self) { try PointsDecoder.decode(Array(body.utf8)) }
        }
    }
}
