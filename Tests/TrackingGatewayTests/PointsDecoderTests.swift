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
}
