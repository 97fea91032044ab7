import HTTPTypes
import Testing
import TrackingCore

@testable import TrackingGateway

/// The `extra` of a point keeps the bytes of its source, in every source format.
@Suite struct VerbatimExtraTests {
    private static let members = #""gone":null,"id":9007199254740993,"list":[1.0, null,{"z":1,"a":2}],"price":1.10"#
    private static let extra = "{\(members)}"
    private static let place = #""geometry":{"type":"Point","coordinates":[-8.66,52.62]}"#

    private func extras(_ batch: PhoneBatch) -> [String?] {
        #expect(batch.refused.isEmpty)
        return batch.points.map { $0.extra.map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test func ofAPointOfTheProtocol() throws {
        for properties in [
            #""time":3,"extra":\#(Self.extra)"#, #""time":3,"id":1,"extra":\#(Self.extra)"#,
            #""timestamp":"2026-05-01T12:00:00Z",\#(Self.members)"#,
        ] {
            let body = #"{"type":"Feature",\#(Self.place),"properties":{\#(properties)}}"#
            #expect(self.extras(try PointsDecoder.decode(Array(body.utf8))) == [Self.extra], "\(properties)")
        }
    }

    @Test func ofAPointWithFurtherMembers() throws {
        let properties = #""time":3,"further":1.50,"extra":\#(Self.extra)"#
        let body = #"{"type":"Feature",\#(Self.place),"properties":{\#(properties)}}"#
        let batch = try PointsDecoder.decode(Array(body.utf8))
        #expect(self.extras(batch) == [#"{\#(Self.members),"further":1.50}"#])
    }

    @Test func ofOverlandsPointsAndOfThePlacesOfItsTrips() throws {
        let feature = """
            {"type":"Feature",\(Self.place),"properties":{"timestamp":"2026-05-01T12:00:00Z","speed":null,\(Self.members)}}
            """
        let trip = #"{"mode":"car","start":"2026-05-01T12:00:00Z","start_location":\#(feature)}"#
        let body = #"{"locations":[\#(feature)],"current":\#(feature),"trip":\#(trip)}"#
        let batch = try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon))
        #expect(self.extras(batch) == [Self.extra, Self.extra])
        #expect(batch.trips.first?.startLocation?.extra == Array(Self.extra.utf8))
    }

    @Test func ofOwnTracksLocations() throws {
        let message = #"{"_type":"location","lat":52.62,"lon":-8.66,"tst":3,"vel":null,\#(Self.members)}"#
        let batch = try OwnTracksDecoder.decode(Array(message.utf8), receivedAt: UnixTime(noon))
        #expect(self.extras(batch) == [Self.extra])
        let secret = try #require(OwnTracksSecret(passphrase: "harbour lights"))
        let sealed = JSONValue.object(["_type": .text("encrypted"), "data": .text(secret.seal(Array(message.utf8)))])
        let opened = try OwnTracksDecoder.decode(sealed.json, receivedAt: UnixTime(noon), secret: secret)
        #expect(self.extras(opened) == [Self.extra] && opened.isEncrypted)
    }

    @Test func ofAPositionInTheAPI() async throws {
        let stage = try await RecordedGateway([:])
        var point = RecordedGateway.point(1)
        point.extra = Array(Self.extra.utf8)
        let trip = Trip(id: "t", mode: "car", start: point.time, stream: try #require(StreamID("one")), seq: 2)
        try await stage.store([point], trip: trip, of: "van")
        let token = try await stage.gateway.token()
        try await stage.test { client in
            for path in ["trackables/van", "trackables/van/position", "positions", "trackables/van/history"] {
                let answer = try await client.execute(uri: "/api/v1/\(path)", method: .get, headers: .bearer(token))
                #expect(
                    answer.status == .ok && answer.text.contains(#""extra":\#(Self.extra)"#), "\(path): \(answer.text)")
                #expect(answer.json != nil)
            }
        }
    }
}

/// Corrected values of phones' points, and numbers in text.
@Suite struct PhoneValueTests {
    private func overland(_ properties: String) throws -> PhoneBatch {
        let place = #""geometry":{"type":"Point","coordinates":[-8.66,52.62]}"#
        let body = #"{"locations":[{"type":"Feature",\#(place),"properties":{\#(properties)}}]}"#
        return try OverlandDecoder.decode(Array(body.utf8), receivedAt: UnixTime(noon))
    }

    @Test(arguments: [
        ("85", 0.85, 1), (#""85""#, 0.85, 1), ("100", 1, 1), ("1.5", 0.015, 1), ("0.85", 0.85, 0), ("1", 1, 0),
        ("0", 0, 0),
    ])
    func aBatteryInPercentIsCorrectedAndCounted(_ level: String, _ fraction: Double, _ corrections: Int) throws {
        let batch = try self.overland(#""timestamp":"2026-05-01T12:00:00Z","battery_level":\#(level)"#)
        #expect(batch.points.map(\.batteryLevel) == [fraction] && batch.corrections == corrections)
        let place = #""geometry":{"type":"Point","coordinates":[-8.66,52.62]}"#
        let feature = #"{"type":"Feature",\#(place),"properties":{"time":3,"batteryLevel":\#(level)}}"#
        let points = try PointsDecoder.decode(Array(feature.utf8))
        #expect(points.points.map(\.batteryLevel) == [fraction] && points.corrections == corrections)
    }

    @Test(arguments: ["-1", "101", "\"0x55\""])
    func aBatteryThatIsNeitherIsUnknown(_ level: String) throws {
        let batch = try self.overland(#""timestamp":"2026-05-01T12:00:00Z","battery_level":\#(level)"#)
        #expect(batch.points.map(\.batteryLevel) == [nil] && batch.corrections == 0)
    }

    @Test(arguments: ["0x5", "0x1p30", "nan", "inf", " 5"])
    func hexadecimalNumbersAreNoTimestamps(_ time: String) throws {
        #expect(try self.overland(#""timestamp":"\#(time)""#).refused.count == 1)
        let message = #"{"_type":"location","lat":52.62,"lon":-8.66,"tst":"\#(time)"}"#
        let ownTracks = try OwnTracksDecoder.decode(Array(message.utf8), receivedAt: UnixTime(noon))
        #expect(ownTracks.points.isEmpty && ownTracks.refused.count == 1)
        let place = #""geometry":{"type":"Point","coordinates":[-8.66,52.62]}"#
        let feature = #"{"type":"Feature",\#(place),"properties":{"time":"\#(time)"}}"#
        #expect(try PointsDecoder.decode(Array(feature.utf8)).refused.count == 1)
    }

    @Test func decimalNumbersInTextAreTimestamps() throws {
        #expect(try self.overland(#""timestamp":"1777636800.25""#).points.map(\.time) == [UnixTime(noon + 0.25)])
    }
}
