import Testing
import TrackingCore

/// The examples of docs/reference/protocol.md, letter by letter.
@Suite struct ProtocolExampleTests {
    static let update = #"""
        { "location": { "type": "Feature",
            "geometry": { "type": "Point", "coordinates": [-8.661746, 52.629151, 19.5] },
            "properties": { "time": 1550475950.25, "accuracyHorizontal": 4.1, "accuracyVertical": 6.0,
              "bearing": 187.5, "accuracyBearing": 3.0, "speed": 8.2, "accuracySpeed": 0.4, "floor": 0,
              "seq": 4711, "stream": "k3f9q2wz", "batteryLevel": 0.83, "mode": "BALANCED", "motion": ["driving"],
              "tripId": "…", "source": "gps" } },
          "skippedLocations": [ ],
          "intermediateLocations": [],
          "type": "ACTUAL" }
        """#

    static let location: Location = {
        var location = Location(
            coordinate: Coordinate(latitude: 52.629151, longitude: -8.661746)!,  // in range
            time: UnixTime(1_550_475_950.25))
        location.altitude = 19.5
        location.accuracyHorizontal = 4.1
        location.accuracyVertical = 6
        location.bearing = 187.5
        location.accuracyBearing = 3
        location.speed = 8.2
        location.accuracySpeed = 0.4
        location.floor = 0
        location.seq = 4711
        location.stream = StreamID("k3f9q2wz")
        location.batteryLevel = 0.83
        location.mode = .balanced
        location.motion = [.driving]
        location.tripID = "…"
        location.source = .gps
        return location
    }()

    @Test func readsTheLocationUpdate() throws {
        #expect(try LocationCodec.decode(Self.update.payload) == LocationUpdate(location: Self.location))
    }

    @Test func writesTheLocationUpdateWithoutWhiteSpace() throws {
        let bytes = try LocationCodec.encode(LocationUpdate(location: Self.location))
        let compact = Self.update.filter { !$0.isWhitespace }
            .replacing("\"accuracyVertical\":6.0", with: "\"accuracyVertical\":6")
            .replacing("\"accuracyBearing\":3.0", with: "\"accuracyBearing\":3")
        #expect(String(decoding: bytes, as: UTF8.self) == compact)
    }

    @Test func writesTheRawUpdateWithTwoMembers() throws {
        var skipped = Self.location
        skipped.seq = 4710
        let bytes = try LocationCodec.encodeRaw(LocationUpdate(location: Self.location, skipped: [skipped]))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasPrefix(#"{"location":{"type":"Feature","#))
        #expect(text.hasSuffix(#""source":"gps"}}]}"#))
        #expect(!text.contains("intermediateLocations"))
        #expect(text.ranges(of: "k3f9q2wz").count == 1, "a skipped point inherits the stream")
        #expect(try LocationCodec.decode(bytes).skipped == [skipped])
    }

    @Test func presence() throws {
        let bytes = Array(
            #"""
            { "type": "PUBLISHER", "session": "s1", "connection": 3, "lease": 90, "since": 1550475950.25,
              "stream": "k3f9q2wz", "rawLocations": false, "metadata": "bike 3, blue" }
            """#.utf8)
        let presence = Presence(
            kind: .publisher, session: SessionID("s1")!, connection: 3, lease: .seconds(90),
            since: UnixTime(1_550_475_950.25), stream: StreamID("k3f9q2wz"), rawLocations: false,
            metadata: "bike 3, blue")
        #expect(try MessageCodec.decodePresence(bytes, expecting: .publisher) == presence)
        #expect(try MessageCodec.decodePresence(MessageCodec.encode(presence)) == presence)
        #expect(
            throws: TrackingError(
                .invalidPayload, "the member type must match the topic: found PUBLISHER on a topic for another type")
        ) {
            try MessageCodec.decodePresence(bytes, expecting: .subscriber)
        }
    }

    @Test(arguments: [
        (#"{"status":"online","session":"s1","connection":3,"lease":90}"#, Liveness.Status.online(lease: .seconds(90))),
        (#"{"status":"offline","session":"s1","connection":3}"#, .offline),
    ])
    func liveness(text: String, status: Liveness.Status) throws {
        let liveness = Liveness(status: status, session: SessionID("s1")!, connection: 3)
        #expect(try MessageCodec.decodeLiveness(text.payload) == liveness)
        #expect(String(decoding: MessageCodec.encode(liveness), as: UTF8.self) == text)
    }

    @Test func livenessOfAGroup() throws {
        let text =
            #"{"status":"online","session":"s1","connection":3,"lease":90,"#
            + #""group":{"name":"fleet","members":["s2/0","s3/4"]}}"#
        let liveness = Liveness(
            status: .online(lease: .seconds(90)), session: SessionID("s1")!, connection: 3,
            group: EnhancerGroup(name: try ClientID("fleet"), members: ["s2/0", "s3/4"]))
        #expect(try MessageCodec.decodeLiveness(text.payload) == liveness)
        #expect(String(decoding: MessageCodec.encode(liveness), as: UTF8.self) == text)
        let unknown = text.replacing(#""members""#, with: #""others""#)
        #expect(try MessageCodec.decodeLiveness(unknown.payload).group?.members == [])
    }

    @Test(arguments: [
        (#"{"members":[]}"#, "name is missing"), (#"{"name":"a b"}"#, "group"), ("7", "group must be an object"),
        (#"{"name":"a","members":7}"#, "group"),
        (#"{"name":"a","members":["# + String(repeating: #""s/1","#, count: 32) + #""s/1"]}"#, "at most 32"),
    ])
    func aWrongGroupIsRefused(group: String, reason: String) {
        let text = #"{"status":"online","session":"s1","connection":3,"lease":90,"group":\#(group)}"#
        do throws(TrackingError) {
            _ = try MessageCodec.decodeLiveness(text.payload)
            Issue.record("\(group) is accepted")
        } catch {
            #expect(error.code == .invalidPayload && error.message.contains(reason), "\(error.message)")
        }
    }

    @Test func request() throws {
        let text = #"{"session":"s1","resolution":{"accuracy":"HIGH","desiredInterval":1000,"minimumDisplacement":1}}"#
        let request = try ResolutionRequest(
            session: SessionID("s1")!,
            resolution: Resolution(accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 1))
        #expect(try MessageCodec.decodeRequest(text.replacing(":1}", with: ": 1.0 }").payload) == request)
        #expect(String(decoding: MessageCodec.encode(request), as: UTF8.self) == text)
    }

    @Test func resolutionInForce() throws {
        let text =
            #"{"resolution":{"accuracy":"BALANCED","desiredInterval":30000,"minimumDisplacement":0},"near":false,"#
            + #""subscribers":2,"lowBattery":false,"state":"ONLINE","filter":"both","maximumSilence":60000}"#
        let resolution = ResolutionInForce(
            resolution: .standard, isNear: false, subscribers: 2, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .seconds(60))
        #expect(try MessageCodec.decodeResolution(text.payload) == resolution)
        #expect(String(decoding: MessageCodec.encode(resolution), as: UTF8.self) == text)
    }

    @Test func resolutionInForceWithADestination() throws {
        let text =
            #"{"resolution":{"accuracy":"BALANCED","desiredInterval":30000,"minimumDisplacement":0},"near":false,"#
            + #""subscribers":2,"lowBattery":false,"state":"ONLINE","filter":"both","maximumSilence":60000,"#
            + #""destination":[-8.6305,52.6638],"distance":4200,"timeToArrival":370}"#
        let destination = try #require(Coordinate(latitude: 52.6638, longitude: -8.6305))
        var resolution = ResolutionInForce(
            resolution: .standard, isNear: false, subscribers: 2, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .seconds(60),
            approach: Approach(destination: destination, distance: 4200, timeToArrival: .seconds(370)))
        #expect(try MessageCodec.decodeResolution(text.payload) == resolution)
        #expect(String(decoding: MessageCodec.encode(resolution), as: UTF8.self) == text)
        let bare = text.replacing(#","distance":4200,"timeToArrival":370"#, with: "")
        resolution.approach = Approach(destination: destination)
        #expect(try MessageCodec.decodeResolution(bare.payload) == resolution)
        for (wrong, member) in [
            (#"[-8.6305]"#, "destination"), (#"[200,52]"#, "destination"), (#""Limerick""#, "destination"),
        ] {
            let error = #expect(throws: TrackingError.self) {
                try MessageCodec.decodeResolution(bare.replacing("[-8.6305,52.6638]", with: wrong).payload)
            }
            #expect(error?.message.contains(member) == true)
        }
        #expect(throws: TrackingError.self) {
            try MessageCodec.decodeResolution(text.replacing(":4200", with: ":-1").payload)
        }
    }

    @Test func event() throws {
        let event = TrackingEvent(
            id: "0f8fad5b-d9cb-469f-a165-70867728950e", stream: StreamID("k3f9q2wz")!, seq: 4712,
            time: UnixTime(1_550_475_960), kind: .lowBattery,
            detail: [
                "batteryLevel": .number(0.09), "threshold": .number(0.1), "first": .flag(true), "by": .text("gps"),
            ],
            location: Self.location)
        let bytes = MessageCodec.encode(event)
        #expect(try MessageCodec.decodeEvent(bytes) == event)
        #expect(
            String(decoding: bytes, as: UTF8.self).hasPrefix(
                #"{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","stream":"k3f9q2wz","seq":4712,"time":1550475960,"#
                    + #""kind":"LOW_BATTERY","detail":{"batteryLevel":0.09,"by":"gps","first":true,"threshold":0.1},"#
                    + #""location":{"type":"Feature""#))
    }
}
