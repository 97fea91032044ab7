import Testing
import TrackingCore
import TrackingPublisher
import TrackingPublisher

@testable import TrackingGateway

@Suite struct OwnTracksDecoderTests {
    private func decode(_ fixture: String, _ secret: OwnTracksSecret? = nil) throws -> PhoneBatch {
        try OwnTracksDecoder.decode(clientFixture(fixture), receivedAt: UnixTime(noon + 3600), secret: secret)
    }

    @Test func androidLocation() throws {
        let batch = try self.decode("owntracks-android-location.json")
        let point = try #require(batch.points.first)
        #expect(point.coordinate == Coordinate(latitude: 52.1, longitude: -8.1) && point.time == UnixTime(noon))
        #expect(point.accuracyHorizontal == 13 && point.altitude == 23 && point.accuracyVertical == 15)
        #expect(point.speed == 10 && point.bearing == 56 && point.batteryLevel == 0.62 && point.source == .gps)
        let extra = point.extraMembers
        #expect(extra["_id"]?.text == "5e13f79e" && extra["t"]?.text == "p" && extra["tid"]?.text == "le")
        #expect(extra["inregions"] == .list([.text("Home")]) && extra["SSID"]?.text == "HarbourNet")
        #expect(extra["created_at"]?.number == noon + 2 && extra["conn"]?.text == "w" && extra["bs"]?.number == 1)
    }

    @Test func iOSLocation() throws {
        let point = try #require(try self.decode("owntracks-ios-location.json").points.first)
        #expect(point.altitude == nil && point.accuracyVertical == nil)
        #expect(point.speed == 0 && point.motion == [.driving])
        let extra = point.extraMembers
        #expect(extra["SSID"]?.text == "HarbourNet" && extra["BSSID"]?.text == "00:11:22:33:44:55")
        #expect(extra["ssid"] == nil && extra["topic"] == nil && extra["p"]?.number == 101.3)
    }

    @Test func oldDeviceWithNumbersAsText() throws {
        let point = try #require(try self.decode("owntracks-old-device-location.json").points.first)
        #expect(point.coordinate == Coordinate(latitude: 52.1, longitude: -8.1) && point.time == UnixTime(noon))
        #expect(point.speed == 5 && point.batteryLevel == 0.62 && point.bearing == 0)
        #expect(point.extraMembers["odometer"]?.number == 1234.5 && point.extraMembers["vin"]?.text == "X1")
    }

    @Test func everyOtherMessageIsAnEvent() throws {
        let batch = try self.decode("owntracks-messages.json")
        #expect(batch.refused.isEmpty && batch.points.isEmpty)
        let events = batch.events
        #expect(
            events.map(\.kind) == [
                "WILL", "WILL", "ZONE", "ZONE", "WAYPOINT", "WAYPOINT", "WAYPOINT", "CARD", "STATUS", "STATUS",
                "STEPS", "BEACON",
            ])
        #expect(events[0].time == noon && events[1].time == noon + 3600)
        #expect(events[2].detail["zone"]?.text == "Home" && events[2].detail["entered"]?.flag == true)
        #expect(events[2].location?.coordinate == Coordinate(latitude: 52.1, longitude: -8.1))
        #expect(events[3].detail["zone"]?.text == "6da9cf" && events[3].detail["entered"]?.flag == false)
        #expect(events[4].detail["desc"]?.text == "Home" && events[4].detail["rad"]?.number == 100)
        #expect(events[7].detail["name"]?.text == "Jane" && events[10].detail["steps"]?.number == 420)
    }

    @Test func noPasswordOfADumpIsKept() throws {
        let batch = try self.decode("owntracks-messages.json")
        #expect(!String(describing: batch).contains("never kept"))
    }

    @Test func damagedMessagesHarmNoOther() throws {
        let batch = try self.decode("owntracks-damaged.json")
        #expect(batch.records.isEmpty && batch.refused.count == 8)
    }

    @Test func encryptedWithTheKey() throws {
        let secret = try #require(OwnTracksSecret(passphrase: "harbour lights"))
        let point = try #require(try self.decode("owntracks-encrypted.json", secret).points.first)
        #expect(point.time == UnixTime(noon) && point.speed == 10 && point.batteryLevel == 0.62)
    }

    @Test func encryptedWithoutOrWithAnotherKeyIsRefused() throws {
        for secret in [nil, OwnTracksSecret(passphrase: "harbour light")] {
            let batch = try self.decode("owntracks-encrypted.json", secret)
            #expect(batch.records.isEmpty && batch.refused.count == 1)
        }
    }

    @Test func aPassphraseHasAtMost32Bytes() {
        #expect(OwnTracksSecret(passphrase: "") == nil)
        #expect(OwnTracksSecret(passphrase: String(repeating: "a", count: 33)) == nil)
        let secret = OwnTracksSecret(passphrase: "harbour lights")
        #expect(!String(reflecting: secret).contains("harbour") && !"\(secret as Any)".contains("104"))
    }

    @Test func theSameMessageTwiceIsTheSameRecord() throws {
        let one = try self.decode("owntracks-android-location.json").records
        let other = try self.decode("owntracks-android-location.json").records
        #expect(one.map(\.digest) == other.map(\.digest))
        let iOS = try self.decode("owntracks-ios-location.json").records
        #expect(one.map(\.digest) != iOS.map(\.digest))  // same place and time, another `_id` and `t`
    }

    @Test func aRepublishedBridgeMessageIsIgnored() throws {
        let marked = #"{"_type":"location","_via":"godwit","lat":1,"lon":1,"tst":1790000000}"#
        let batch = try OwnTracksDecoder.decode(Array(marked.utf8), receivedAt: UnixTime(noon))
        #expect(batch == PhoneBatch())
        let others = marked.replacing("godwit", with: "another")
        #expect(try OwnTracksDecoder.decode(Array(others.utf8), receivedAt: UnixTime(noon)).points.count == 1)
    }

    /// A position belongs to the time of its fix, which no other value gives: it may arrive weeks later.
    @Test func aPositionWithoutTheTimeOfItsFixIsRefused() throws {
        let text = #"{"_type":"location","lat":1,"lon":1,"created_at":1790000000}"#
        let batch = try OwnTracksDecoder.decode(Array(text.utf8), receivedAt: UnixTime(noon))
        #expect(batch.records.isEmpty && batch.refused.count == 1)
    }

    /// One message may contain thousands of waypoints.
    @Test func waypointsCountAsRecords() throws {
        let waypoints = { (count: Int) in
            let list = (0..<count).map { #"{"a":\#($0)}"# }.joined(separator: ",")
            return #"{"_type":"waypoints","waypoints":[\#(list)]}"#
        }
        let batch = try OwnTracksDecoder.decode(Array(waypoints(9000).utf8), receivedAt: UnixTime(noon))
        #expect(batch.records.count == 9000)
        let error = #expect(throws: TrackingError.self) {
            try OwnTracksDecoder.decode(
                Array("[\(waypoints(9000)),\(waypoints(1001))]".utf8), receivedAt: UnixTime(noon))
        }
        #expect(error?.code == .payloadTooLarge)
    }

    @Test func anEmptyBodyIsNothing() throws {
        #expect(try OwnTracksDecoder.decode([], receivedAt: UnixTime(noon)) == PhoneBatch())
    }

    @Test func aRepeatedMessageWithAnIDAndNoTimeIsUnchanged() throws {
        func record(_ text: String, at second: Double) throws -> RecordDraft {
            let batch = try OwnTracksDecoder.decode(Array(text.utf8), receivedAt: UnixTime(noon + second))
            return try #require(batch.records.first)
        }
        for text in [
            #"{"_type":"status","_id":"5e13f79e","android":{"wifi":1}}"#,
            #"{"_type":"transition","_id":"5e13f79e","event":"enter","desc":"Home","lat":1,"lon":2}"#,
        ] {
            let (one, other) = (try record(text, at: 1), try record(text, at: 2))
            #expect(one.digest == other.digest && one.isKnownByDigest && other.isKnownByDigest)
            #expect(one.time == UnixTime(noon + 1), "it is told with the time of its arrival")
        }
        let written = #"{"_type":"lwt","_id":"1","created_at":1790000000}"#
        #expect(try record(written, at: 1) == record(written, at: 2))
        #expect(try record(written, at: 1).time == UnixTime(1_790_000_000))
        #expect(try record(#"{"_type":"lwt"}"#, at: 1).digest != record(#"{"_type":"lwt"}"#, at: 2).digest)
    }
}
