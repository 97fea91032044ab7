import Testing
import TrackingCore

struct RecordingBatchTests {
    private func received(_ payload: String, on topic: String = "tracking/van") -> RecordingBatch {
        var batch = RecordingBatch()
        batch.received(
            IncomingMessage(topic: topic, payload: ArraySlice(payload.utf8), isRetained: false), root: .standard,
            at: now)
        return batch
    }

    private func feature(_ seq: Int?, latitude: String = "52.6", time: String = "1790000000.25") -> String {
        let number = seq.map { #","seq":\#($0)"# } ?? ""
        return #"{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.6,\#(latitude)]},"#
            + #""properties":{"time":\#(time)\#(number),"stream":"one"}}"#
    }

    @Test func anUpdateBringsItsSkippedPoints() throws {
        let batch = self.received(
            #"{"location":\#(self.feature(3)),"skippedLocations":[\#(self.feature(1)),\#(self.feature(2))]}"#)
        #expect(try #require(batch.recordings.first).points.map(\.seq) == [1, 2, 3])
        #expect(batch.count == 3 && batch.refused.isEmpty)
    }

    @Test func aPredictionIsNoRecord() throws {
        let batch = self.received(#"{"location":\#(self.feature(nil)),"type":"PREDICTED"}"#)
        #expect(try #require(batch.recordings.first).points.isEmpty)
    }

    @Test func aBatchBringsEverythingAndOneBadRecordDoesNotStopTheRest() throws {
        let event = #"{"id":"e","stream":"one","seq":6,"time":1790000000,"kind":"LOW_BATTERY"}"#
        let trip = #"{"tripId":"t","mode":"car","state":"ACTIVE","start":1790000000,"stream":"one","seq":7}"#
        let batch = self.received(
            #"{"batch":"b","stream":"one","oldest":4,"gone":[[8,9]],"end":9,"points":"#
                + #"[\#(self.feature(4)),\#(self.feature(5, latitude: "91"))],"trips":[\#(trip)],"events":[\#(event)]}"#,
            on: "tracking/van/history")
        let recording = try #require(batch.recordings.first)
        #expect(recording.points.map(\.seq) == [4])
        #expect(
            recording.trips.map(\.json) == [Array(trip.utf8)] && recording.events.map(\.json) == [Array(event.utf8)])
        #expect(recording.declaration == StreamDeclaration(stream: stream, oldest: 4, gone: [8...9], end: 9))
        let refused = try #require(batch.refused.first)
        #expect(refused.seq == 5 && refused.stream == stream && refused.trackable == van && batch.refused.count == 1)
    }

    @Test(arguments: [
        ("91", "1790000000"), ("1e999", "1790000000"), ("52", "1790000000000"), ("52", "1.7e12"), ("52", "1e999"),
        ("52", "\"now\""),
    ])
    func anImpossibleValueIsQuarantined(latitude: String, time: String) throws {
        let batch = self.received(#"{"location":\#(self.feature(1, latitude: latitude, time: time))}"#)
        #expect(batch.recordings.isEmpty)
        #expect(try #require(batch.refused.first).topic == "tracking/van")
    }

    @Test func garbageIsQuarantinedInBoundedSize() throws {
        for garbage in [String(repeating: "[", count: 200_000), String(repeating: "\u{0}", count: 1 << 20)] {
            let refused = try #require(self.received(garbage).refused.first)
            #expect(refused.payload.count == RefusedMessage.maximumPayloadBytes)
            #expect(refused.trackable == van)
        }
        let stranger = self.received("{}", on: "tracking/a+b/x/" + String(repeating: "y", count: 5000))
        #expect(try #require(stranger.refused.first).topic.utf8.count == RefusedMessage.maximumTopicBytes)
    }

    /// A quarantined record is erased together with the trackable that it was meant for.
    @Test(arguments: [
        ("tracking/van/publisher/bad.client", "van"), ("tracking/=76an", "van"), ("tracking/=76=61n/x/y/z", "van"),
        ("tracking/van/", "van"), ("tracking/no=such=id", nil), ("tracking/", nil), ("tracking//van", nil),
    ])
    func anInvalidTopicMayNameATrackable(topic: String, name: String?) throws {
        let refused = try #require(self.received("{}", on: topic).refused.first)
        #expect(refused.trackable?.rawValue == name && refused.reason == "the topic is not a topic of the protocol")
    }

    @Test func presenceAndResolutionRemainUntilCleared() throws {
        let presence = #"{"type":"PUBLISHER","session":"s","connection":0,"lease":90,"since":1790000000}"#
        let came = self.received(presence, on: "tracking/van/publisher/van-7")
        #expect(try #require(came.recordings.first).state == StateChange("publisher/van-7", json: Array(presence.utf8)))
        let left = self.received("", on: "tracking/van/publisher/van-7")
        #expect(try #require(left.recordings.first).state == StateChange("publisher/van-7", json: nil))
        #expect(self.received(presence, on: "tracking/van/subscriber/desk").refused.count == 1)
    }

    @Test(arguments: ["tracking/van/command", "tracking/van/ack/r", "tracking/_clients/van-7", "tracking/van/raw"])
    func otherTopicsAreNotRecorded(topic: String) {
        #expect(self.received("{}", on: topic).isEmpty)
    }

    @Test func aClearedTopicIsNoRecord() {
        #expect(self.received("").isEmpty)
    }
}

struct GeoBoxTests {
    @Test func aCircleIsInItsBox() throws {
        var random = SplitMix64(seed: 4)
        for _ in 0..<500 {
            let center = try #require(
                Coordinate(
                    latitude: .random(in: -90...90, using: &random), longitude: .random(in: -180...180, using: &random))
            )
            let radius = Meters(.random(in: 1...2_000_000, using: &random))
            let box = GeoBox(around: center, radius: radius)
            for _ in 0..<20 {
                let distance = Meters(.random(in: 0...radius.value * 0.999, using: &random))
                let place = center.destination(bearing: .random(in: 0..<360, using: &random), distance: distance)
                #expect(box.contains(place))
                #expect(box.parts.contains { $0.contains(place) })
            }
        }
    }

    @Test func aBoxMayCrossTheAntimeridian() throws {
        let box = try #require(GeoBox(south: -10, west: 170, north: 10, east: -170))
        #expect(box.contains(try #require(Coordinate(latitude: 0, longitude: 179))))
        #expect(box.contains(try #require(Coordinate(latitude: 0, longitude: -175))))
        #expect(!box.contains(try #require(Coordinate(latitude: 0, longitude: 0))))
        #expect(box.parts.count == 2)
        #expect(GeoBox(south: 10, west: 0, north: 0, east: 1) == nil)
    }
}
