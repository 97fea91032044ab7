import Testing
import TrackingCore
import TrackingPublisher

@testable import TrackingGateway

/// Requests with NextBillion.ai's `LocationData`. The members are those of its pages "Data reporting" and of its REST
/// interface.
@Suite struct NextBillionDecoderTests {
    @Test func aListOfLocationData() throws {
        let batch = try NextBillionDecoder.decode(clientFixture("nextbillion-location-data.json"))
        #expect(batch.points.map(\.time) == [UnixTime(noon), UnixTime(noon + 15)])
        let point = try #require(batch.points.first)
        #expect(point.coordinate == Coordinate(latitude: 52.6291512, longitude: -8.6617461))
        #expect(point.accuracyHorizontal == 4.5 && point.speed == 8.2 && point.bearing == 187.5)
        #expect(point.altitude == 19.5 && point.batteryLevel == 0.83 && point.mode == .balanced && point.extra == nil)
        #expect(batch.points[1].speed == nil && batch.points[1].bearing == nil)
        #expect(batch.refused.map(\.reason) == ["the latitude must be -90 to 90 and the longitude -180 to 180"])
    }

    private static let one = #"{"location":{"lat":1,"lon":2},"timestamp":1777636800250,"meta_data":{"a":1.0}}"#

    @Test(arguments: [one, "[\(one)]", #"{"device_id":"d","locations":[\#(one)]}"#])
    func oneObjectAListAndABodyOfTheRESTInterfaceAreTheSame(body: String) throws {
        let batch = try NextBillionDecoder.decode(Array(body.utf8))
        #expect(batch.refused.isEmpty && batch.points.map(\.time) == [UnixTime(noon + 0.25)])
        #expect(batch.points.first?.extra == Array(#"{"meta_data":{"a":1.0}}"#.utf8))
    }

    /// An export is a valid body.
    @Test func thePointsOfAnExportAreTheSame() throws {
        let body = try clientFixture("nextbillion-location-data.json")
        let points = try NextBillionDecoder.decode(body).points
        let again = try points.flatMap { try NextBillionDecoder.decode(NextBillionLocation($0).encoded).points }
        #expect(again == points)
    }

    @Test func aFixWithoutAPositionIsRefusedAlone() throws {
        let bad = [#"{"location":{"lat":1,"lon":2},"timeStamp":1,"accuracy":-1}"#, #"{"timeStamp":1}"#, "5"]
        let bodies = bad + [Self.one]
        let batch = try NextBillionDecoder.decode(Array("[\(bodies.joined(separator: ","))]".utf8))
        #expect(batch.points.count == 1 && batch.refused.count == 3)
    }

    @Test(arguments: ["", "{", "[", "7", "{}", #"{"locations":7}"#, #"{"_type":"location","lat":1,"lon":2,"tst":3}"#])
    func aBodyWithoutLocationDataIsUnreadable(body: String) {
        #expect(throws: TrackingError.self) { try NextBillionDecoder.decode(Array(body.utf8)) }
    }

    @Test func tooManyObjectsAreTooLarge() {
        let body = "[" + Array(repeating: "{}", count: PhoneBatch.maximumRecords + 1).joined(separator: ",") + "]"
        #expect {
            try NextBillionDecoder.decode(Array(body.utf8))
        } throws: {
            ($0 as? TrackingError)?.code == .payloadTooLarge
        }
    }
}
